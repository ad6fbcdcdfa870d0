"""Releases of methods that see many images at once, and make each output of several people."""
