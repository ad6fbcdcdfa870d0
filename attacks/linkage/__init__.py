"""One attacker ready for use: verify, retrieve, link, overlap, release."""
