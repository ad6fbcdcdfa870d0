"""Data sets: one table for every source, splits, pairs, cache."""
