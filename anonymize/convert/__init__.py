"""Weights of the published programs as our model files; no code of theirs is ever run."""
