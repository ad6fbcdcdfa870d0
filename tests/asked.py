"""A command, called in process as a user calls it."""

from click.testing import CliRunner


def ask(main, *words, code=0):
    """The result, whose exit status must be ``code``; no error may be a traceback."""
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result
