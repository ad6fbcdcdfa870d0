"""Processes that open files of strangers, here and on other machines, and what passes between
them and the release."""
