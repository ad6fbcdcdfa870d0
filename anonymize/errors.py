"""Failures that a user can mend: each names the argument, the rule and the way out."""


class UsageError(ValueError):
    """Wrong input. The commands print it in one line and exit with status 2.

    The message never holds a tag value, a patient identifier or an input file's name.
    """


class DataError(UsageError):
    """A data set that does not fit its reader: a missing column, file, label or identity."""


class ModelError(UsageError):
    """A model file that cannot be trusted or does not fit what was asked."""
