"""`anonymize apply`: read, anonymize, write, account; fail closed."""
