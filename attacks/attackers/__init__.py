"""One file an attacker: its options, its levels of knowledge, its class."""
