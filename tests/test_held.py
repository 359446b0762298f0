"""Bytes of one event until it is whole: bounded, and what was dropped is said."""

from __future__ import annotations

from proxy.wire.exchange import Note
from proxy.wire.held import Held, dropped_notes


def test_an_event_is_its_pieces():
    """Up to the bound and no further; the next one begins empty."""
    held = Held(4)
    for piece in (b"ab", b"", b"cd"):
        held.add(piece)
    assert b"abcd" == held.take()
    assert b"" == held.take()
    assert () == held.notes


def test_one_that_is_too_long_is_dropped_whole():
    """However it comes in pieces; the one behind it is whole again."""
    held = Held(4)
    for piece in (b"abc", b"de", b"f"):
        held.add(piece)
    assert b"" == held.take()
    held.add(b"next")
    assert b"next" == held.take()
    assert (Note("event_too_long", "reply events", "1 longer than 4 bytes"),) == held.notes


def test_nothing_dropped_is_nothing_to_say():
    """No note of zero events."""
    assert () == dropped_notes(0, 4)
