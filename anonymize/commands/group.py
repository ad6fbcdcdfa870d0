"""A click group whose subcommands are imported on use, so that ``--help`` answers at once."""

import atexit
import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from anonymize import core_dump
from anonymize.commands.interrupts import Terminated, heard
from anonymize.errors import UsageError, inert

CANNOT_WRITE = 4


class Failure(click.ClickException):
    """An expected failure: one line on standard error and the exit status."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        # Of a model card or a label file it may quote anything.
        super().__init__(inert(" ".join(str(message).split())))
        self.exit_code = exit_code  # type: ignore[misc]  # click lets an exception have its own


class LazyGroup(click.Group):
    """``commands`` maps a name to its one-line help; module ``package.name`` holds ``command``."""

    def __init__(self, name: str, *, package: str, commands: dict[str, str], help: str) -> None:
        settings = {"help_option_names": ["-h", "--help"], "show_default": True}
        super().__init__(name, help=help, context_settings=settings)
        self._package, self._lazy = package, commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self._lazy:
            return None
        return import_module(f"{self._package}.{name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lazy.items()))

    def make_context(self, *args, **kwargs) -> click.Context:
        _open_standard_streams()
        with _failures_in_words():  # of --help
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context):
        core_dump.forbid()
        # At its end Python looks for garbage among a million objects, again and again, for seconds.
        atexit.register(gc.freeze)
        try:
            with heard(), _failures_in_words():
                return super().invoke(ctx)
        except UsageError as error:
            raise Failure(str(error)) from error
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else ctx.command_path
            raise Failure(f"{error.format_message()} See `{where} --help`.") from error
        except KeyboardInterrupt as stop:
            status = stop.status if isinstance(stop, Terminated) else 130
            words = "interrupted; the same command goes on from what was finished"
            raise Failure(words, status) from None


class _Losing(io.FileIO):
    """Standard error that nobody misses: on a full disk, what is said is lost, and the work and
    its exit status are not."""

    def write(self, data) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


@contextmanager
def _failures_in_words() -> Iterator[None]:
    """What cannot be read or written ends the command with a line."""
    try:
        yield
    except OSError as error:
        # The path may be an input's, so it is not shown.
        raise Failure(
            f"a file, a folder or standard output cannot be used "
            f"({error.strerror or type(error).__name__}); check the paths given, permissions and "
            "free space",
            CANNOT_WRITE,
        ) from error


def _open_standard_streams() -> None:
    """Those that whoever started this has closed lose what is said: else a file that is opened
    would take their number, and what a library says there would go into it."""
    given = sys.__stderr__
    if given is not None and sys.stderr is given:
        losing = io.BufferedWriter(_Losing(given.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(
            losing, given.encoding, given.errors, line_buffering=True, write_through=True
        )
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115 (as long as the process)
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
