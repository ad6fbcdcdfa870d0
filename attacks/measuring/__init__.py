"""How good scores are: figures, statistics and exact search; no files, no networks."""
