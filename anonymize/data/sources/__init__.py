"""One reader a data set; all give the same :class:`anonymize.data.table.Table`."""
