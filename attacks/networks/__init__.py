"""Networks of the attackers that learn who is shown, in parts; the numbers are their options."""
