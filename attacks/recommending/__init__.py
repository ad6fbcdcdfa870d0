"""Which method for somebody's data: a small search, and what can be said of what it found."""
