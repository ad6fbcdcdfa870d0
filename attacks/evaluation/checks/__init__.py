"""Whether the figures of an evaluation are to be believed."""
