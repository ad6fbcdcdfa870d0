"""Networks of the attackers that learn who is shown: parts, and the numbers in `build`."""
