"""Names that others chose, made fit to be printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.render.names import LONGEST, printable


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("browser_snapshot", "browser_snapshot"),
        ("Müller 模型", "Müller 模型"),
        (None, "-"),
        ("a\x1b[31mb", "a\\u001b[31mb"),
        ("a\nb\tc", "a\\u000ab\\u0009c"),
        ("a\u202eb\u200b", "a\\u202eb\\u200b"),
        ("a\u00a0b", "a b"),
        ("\ud800", "\\ud800"),
        ("x" * 61, "x" * 57 + "..."),
        ("x" * 60, "x" * 60),
    ],
)
def test_a_name_is_one_harmless_line(name, expected):
    """Control, direction and half characters are shown as what they are; length is bounded."""
    assert printable(name) == expected


@given(st.text(alphabet=st.characters()))
def test_no_name_is_too_long_or_breaks_the_line(name):
    """Whatever a name holds, what is printed is printable and short, and can be encoded."""
    shown = printable(name)

    assert len(shown) <= LONGEST
    assert shown.isprintable()
    shown.encode("utf-8")
