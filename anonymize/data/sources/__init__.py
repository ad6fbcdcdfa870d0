"""One reader a data set; all give the same :class:`anonymize.data.table.Table`."""

from anonymize.data.sources.registry import SOURCES, read

__all__ = ["SOURCES", "read"]
