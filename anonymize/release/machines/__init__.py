"""A release by several machines, from and to an object storage."""
