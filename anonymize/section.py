"""What every section of options has in common."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Product = Literal["reference", "model", "figures"]


def only(*products: Product) -> dict[str, Any]:
    """Mark of an option or section, an argument of its ``Field``: it matters to these products
    alone; with ``only()`` to none, it changes no number. An unmarked option matters to all."""
    return {"json_schema_extra": {"matters_to": products}}


class Options(BaseModel):
    """Base of every section: immutable, and a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def that_matter(self, to: Product | None = None) -> dict[str, Any]:
        """The options that a product depends on, sections as mappings.

        Args:
            to: "reference" (classifier and verifier of real images), "model" (trained generator)
                or "figures" (of a release that is known); None: any of them.
        """
        found = {}
        for name, field in type(self).model_fields.items():
            extra = field.json_schema_extra
            matters = extra.get("matters_to") if isinstance(extra, dict) else None
            if matters is None or (matters if to is None else to in matters):
                value = getattr(self, name)
                found[name] = value.that_matter(to) if isinstance(value, Options) else value
        return found
