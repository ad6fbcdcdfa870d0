"""A plan, every method against every attacker, and one results.json."""
