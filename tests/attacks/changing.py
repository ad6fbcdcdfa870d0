"""Records and options with other fields."""

from pydantic import BaseModel


def altered(record, **fields):
    """The record with these fields; a dictionary alters those of a record within it."""
    for name, value in fields.items():
        own = getattr(record, name, None)
        if isinstance(own, BaseModel) and isinstance(value, dict):
            fields[name] = altered(own, **value)
    return record.model_copy(update=fields)
