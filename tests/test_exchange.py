"""What begins and ends an exchange: byte forms that come back as they went in."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.exchange import Ending, Note, Opening, Outcome
from tests.support.builders import ending, exchange, opening

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
COUNTS = st.integers(0, 2**64 - 1)
DELAYS = st.none() | st.integers(0, 2**63 - 1)
OPENINGS = st.builds(
    Opening, COUNTS, COUNTS, TEXTS, TEXTS, TEXTS, TEXTS, request_bytes=COUNTS, reply_bytes=COUNTS
)
ENDINGS = st.builds(
    Ending, st.sampled_from(Outcome), COUNTS, COUNTS, DELAYS, DELAYS, DELAYS, COUNTS, TEXTS
)


@given(OPENINGS)
def test_an_opening_comes_back(there):
    """Numbers and texts survive, whatever is in them."""
    assert Opening.decode(there.encode()) == there


@given(ENDINGS)
def test_an_ending_comes_back(there):
    """Every number survives, and None stays None."""
    assert Ending.decode(there.encode()) == there


def test_bytes_that_are_no_text_survive():
    """An operator's label read with surrogate escapes is the operator's label afterwards."""
    label = b"caf\xe9".decode("utf-8", "surrogateescape")

    assert Opening.decode(opening(label=label).encode()).label == label


def test_a_nul_cannot_move_the_fields():
    """The separator in a text is dropped: no text can pose as the next one."""
    assert Opening.decode(opening(label="a\0b").encode()) == opening(label="ab")


def test_a_delay_of_nothing_is_not_an_unknown_delay():
    """Null is not zero."""
    there = ending(self_first_ns=0, self_worst_ns=None, lateness_ns=0)

    assert Ending.decode(there.encode()) == there


def test_a_detail_that_cannot_be_encoded_is_still_a_detail():
    """The system's words may be anything; they never cost the ending."""
    there = ending(Outcome.client_gone, detail="reset \ud800")

    assert Ending.decode(there.encode()) == replace(there, detail="reset ?")


@pytest.mark.parametrize("data", [b"", b"1\x001", b"a\x00b\x00c\x00d\x00e\x00f\x00g\x00h"])
def test_what_is_no_opening_raises(data):
    """Only ValueError: the reader of a foreign dump catches one thing."""
    with pytest.raises(ValueError, match=r"unpack|literal"):
        Opening.decode(data)


@pytest.mark.parametrize("data", [b"", ending().encode()[:20], b"\xff" + ending().encode()[1:]])
def test_what_is_no_ending_raises(data):
    """Too short, or an outcome that is none."""
    with pytest.raises((ValueError, struct.error)):
        Ending.decode(data)


def test_outcomes_keep_their_numbers():
    """They are on the wire."""
    assert [outcome.name for outcome in sorted(Outcome)] == [
        "complete", "client_gone", "upstream_unreachable", "upstream_aborted", "upstream_timeout",
        "shutdown", "proxy_killed", "proxy_error",
    ]  # fmt: skip
    assert sorted(Outcome) == list(range(8))


def test_an_exchange_in_a_tunnel_is_named_after_it():
    """`7` for the seventh of the run, `7.2` for the second that was asked for inside of it."""
    assert exchange(number=7).name == "7"
    assert exchange(number=7, message=2).name == "7.2"


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (Note("tunnel"), "tunnel"),
        (Note("coding_cut", "reply body"), "coding_cut: reply body"),
        (Note("coding_cut", "reply body", "gzip"), "coding_cut: reply body, gzip"),
        (Note("resumed", "", "the recorder died"), "resumed: the recorder died"),
    ],
)
def test_a_note_says_what_it_has_to_say(note, text):
    """No separator stands where there is nothing to separate."""
    assert str(note) == text
