"""Results as tables, pictures and a report."""
