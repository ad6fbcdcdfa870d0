"""What a release writes down of itself: the private journal, and the public tables."""
