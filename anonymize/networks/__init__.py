"""Networks: parts in one file an architecture, their numbers in ``build``."""
