"""What every section of options has in common."""

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """Base of every section: immutable, and a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
