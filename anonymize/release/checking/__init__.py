"""Whether a file may be released: looked at before it gets its name, and again in the release."""
