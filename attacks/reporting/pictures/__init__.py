"""Figures and sheets of radiographs: what results look like."""
