"""What every section of options has in common, and what is said of values that do not fit."""

from collections.abc import Iterator
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from anonymize.errors import UsageError, did_you_mean, printable

# A field of several names, which the command line gives with commas between them.
LISTED = BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value)
Product = Literal["reference", "model", "scores", "figures"]


def only(*products: Product) -> dict[str, Any]:
    """Mark of an option or section, an argument of its ``Field``: it matters to these products
    alone; with ``only()`` to none, it changes no number. An unmarked option matters to all."""
    return {"json_schema_extra": {"matters_to": products}}


class Options(BaseModel):
    """Base of every section: immutable; a misspelt key, NaN or infinity is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def that_matter(self, to: Product | None = None) -> dict[str, Any]:
        """The options that a product depends on, sections as mappings.

        Args:
            to: "reference" (classifier and verifier of real images), "model" (trained generator)
                or, of a release that is known, "scores" of attackers and "figures"; None: any of
                them.
        """
        found = {}
        for name, field in type(self).model_fields.items():
            extra = field.json_schema_extra
            mark = extra.get("matters_to") if isinstance(extra, dict) else None
            matters = cast("tuple[Product, ...] | None", mark)
            if matters is None or (matters if to is None else to in matters):
                value = getattr(self, name)
                found[name] = value.that_matter(to) if isinstance(value, Options) else value
        return found


def validated(model: type[Options], values: dict[str, Any]) -> Any:
    """``model(**values)``; what pydantic refuses becomes a UsageError of one line."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UsageError("; ".join(_explain(e, model) for e in error.errors()[:3])) from None


def _explain(error: ErrorDetails, model: type[Options]) -> str:
    place = ".".join(str(p) for p in error["loc"])
    if error["type"] == "extra_forbidden":
        section: Any = model
        for name in error["loc"][:-1]:
            entries = isinstance(name, int)
            section = get_args(section)[0] if entries else section.model_fields[name].annotation
        return (
            f"unknown option {place}{nearest(place, section, model)}; "
            f"known here: {', '.join(section.model_fields)}"
        )
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "it must")
    if not place:
        return message
    return f"option {place}: {message}; got {printable(repr(error['input']))}"


def nearest(place: str, section: type[Options], model: type[Options]) -> str:
    """A question that names the option most like ``place``; empty where none is."""
    before, dot, last = place.rpartition(".")
    found = [path for path in _paths(model) if path.endswith(f".{last}")]
    elsewhere = f" (did you mean {found[0]}?)" if len(found) == 1 else ""
    return did_you_mean(last, section.model_fields, before=f"{before}{dot}") or elsewhere


def _paths(model: type[Options], prefix: str = "") -> Iterator[str]:
    for name, option in model.model_fields.items():
        yield f"{prefix}{name}"
        if isinstance(option.annotation, type) and issubclass(option.annotation, Options):
            yield from _paths(option.annotation, f"{prefix}{name}.")
