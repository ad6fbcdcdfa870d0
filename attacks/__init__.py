"""What an adversary can still do to released radiographs, and what they are still good for."""
