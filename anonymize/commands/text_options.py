"""What the command line asks for about burned-in text."""

from __future__ import annotations

import click

from anonymize.release.burned_in.options import TextOptions


def text_options(mode: str | None, fill: str, *, side_markers: bool) -> TextOptions:
    """What is done about burned-in text; said aloud where nobody looks for it.

    ``mode`` None: removed where the OCR is installed; ``side_markers``: L and R alone may stay.
    """
    from anonymize.release.burned_in import reader

    if mode is None:
        mode = "remove" if reader.available() else "keep"
        if mode == "keep":
            click.echo(
                "warning: text burned into pictures is NOT LOOKED FOR: the OCR is not installed "
                "(pip install 'anonymize-cxr[ocr]'); to have it so, say --text keep",
                err=True,
            )
    return TextOptions(mode, fill, side_markers)
