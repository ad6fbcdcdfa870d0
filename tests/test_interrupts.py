"""Ctrl-C, SIGTERM and SIGHUP are not lost where Python drops what is raised."""

import signal
import sys
import time
import weakref

import pytest

from anonymize.commands import interrupts
from anonymize.commands.interrupts import Terminated, asked_to_stop, heard


class Thing:
    """Something that weak references may follow."""


def drop(error):
    """``error`` is raised where nobody catches it: in the callback of a weak reference."""

    def end(_):
        raise error

    thing = Thing()
    kept = weakref.ref(thing, end)
    del thing
    assert kept() is None


def slowly(act):
    """``act``, and nothing for long."""
    act()
    time.sleep(30)


@pytest.fixture(autouse=True)
def listening():
    """Ctrl-C and SIGHUP are heard, though a shell in the background, or nohup, has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGHUP, hung_up)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Terminated(), Terminated(signal.SIGHUP)])
def test_what_was_dropped_comes_again_as_itself(error):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as stop, heard():
        slowly(lambda: drop(error))
    assert stop.type is type(error)
    assert vars(stop.value) == vars(error)
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_errors_go_where_they_went(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: seen.append(dropped.exc_type))
    with heard():
        drop(ValueError)
    assert seen == [ValueError]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_command_is_an_interrupt(number):
    with pytest.raises(Terminated) as stop, heard():
        slowly(lambda: signal.raise_signal(number))
    assert stop.value.status == 128 + number


@pytest.mark.parametrize("listen", [heard, asked_to_stop])
def test_under_nohup_a_closed_terminal_ends_nothing(listen):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with listen():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("number", "error"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated)],
)
def test_one_asks_and_a_later_one_ends(monkeypatch, number, error):
    before = signal.getsignal(number)
    with asked_to_stop() as stopping:
        assert not stopping()
        signal.raise_signal(number)
        signal.raise_signal(number)  # told to a process and to its group
        assert stopping()
        monkeypatch.setattr(interrupts, "_TWICE_SECONDS", 0.0)
        with pytest.raises(KeyboardInterrupt) as stop:
            signal.raise_signal(number)
    assert stop.type is error
    assert signal.getsignal(number) is before
