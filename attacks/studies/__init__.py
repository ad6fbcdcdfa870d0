"""What is asked of an attacker beside its figures: how it scales, and what it looks at."""
