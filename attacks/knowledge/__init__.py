"""What each level of knowledge may see: images to learn from, probes and gallery."""
