"""Who carries an evaluation out, and what was measured before a stop."""
