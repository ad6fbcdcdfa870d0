"""What a release has to keep to, and whether it does."""
