"""The pages' common ground: templates, the style, and the only script that a page lets run."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from attacks.reporting.pictures.looks import COLOURS
from attacks.reporting.words import in_short

TEMPLATES = Path(__file__).with_name("templates")


def page(template: str, **shown: Any) -> str:
    """A whole HTML file from a template, which escapes what it is given.

    Its policy (Content-Security-Policy) admits the page's own script by its hash, pictures in data
    addresses, and nothing else.
    """
    script = (TEMPLATES / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    found = _environment().get_template(template)
    return found.render(shown, script=Markup(script), script_hash=digest, colours=COLOURS)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = code
    environment.filters["in_short"] = in_short
    return environment


def code(text: str) -> Markup:
    """Text for a page, what stands between backticks as code; all else is escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
