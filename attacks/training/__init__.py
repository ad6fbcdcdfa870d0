"""How the networks of attackers learn, whichever attacker it is."""
