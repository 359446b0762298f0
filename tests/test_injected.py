"""What a client puts among the user's words: told apart where it is marked, and only there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.base import PromptPart
from proxy.dialects.injected import pieces, set_apart

NOTE = "<system-reminder>Be kind.</system-reminder>"

CASES = {
    "no text": ("", []),
    "no mark": ("hi", [("hi", False)]),
    "nothing but blanks": (" \n", [(" \n", False)]),
    "a mark": (NOTE, [(NOTE, True)]),
    "a mark in front": (f"{NOTE}\n\nhi", [(f"{NOTE}\n\n", True), ("hi", False)]),
    "a mark behind": (f"hi\n{NOTE}\n", [("hi\n", False), (f"{NOTE}\n", True)]),
    "a mark between": (f"a\n{NOTE} b", [("a\n", False), (f"{NOTE} ", True), ("b", False)]),
    "blanks in front": (f"\n  {NOTE}", [(f"\n  {NOTE}", True)]),
    "two marks": (f"{NOTE}\n{NOTE}", [(f"{NOTE}\n", True), (NOTE, True)]),
    "two marks in a line": (NOTE * 2, [(NOTE, True), (NOTE, True)]),
    "with an attribute": (
        '<environment_context v="1">\n</environment_context>',
        [('<environment_context v="1">\n</environment_context>', True)],
    ),
    "another name inside": (
        "<system-reminder><ide_selection></system-reminder>",
        [("<system-reminder><ide_selection></system-reminder>", True)],
    ),
    "in mid-line": (f"What is {NOTE}?", [(f"What is {NOTE}?", False)]),
    "not closed": ("<system-reminder>hi", [("<system-reminder>hi", False)]),
    "closed by another": (
        "<system-reminder>hi</ide_selection>",
        [("<system-reminder>hi</ide_selection>", False)],
    ),
    "not a client's": ("<b>hi</b>", [("<b>hi</b>", False)]),
}


@pytest.mark.parametrize(("text", "found"), CASES.values(), ids=CASES)
def test_marked_text_is_told_apart(text, found):
    """Closed marks at the start of a line are the client's, with the blanks beside them."""
    assert list(pieces(text)) == found


@given(st.lists(st.sampled_from(["<system-reminder>", "</system-reminder>", "\n", " ", "a", NOTE])))
def test_no_text_is_lost(parts):
    """Joined, the pieces are the text, and none is empty."""
    text = "".join(parts)
    found = [piece for piece, _ in pieces(text)]

    assert "".join(found) == text
    assert all(found)


@pytest.mark.parametrize(
    "text", ["<system-reminder>\n" * 100_000, f"{NOTE}\n" * 50_000, "\n<system-reminder " * 100_000]
)
def test_a_long_text_takes_no_longer_than_its_length(text):
    """A text full of marks, open or closed, is read in one go."""
    begun = time.perf_counter()
    list(pieces(text))

    assert time.perf_counter() - begun < 2


def test_only_the_users_words_are_looked_at():
    """A file that a tool read, and what the model wrote, may hold such marks too."""
    parts = [
        PromptPart("tool_results", "user", NOTE),
        PromptPart("history", "assistant", NOTE),
        PromptPart("history", "user", f"hi\n{NOTE}", message=3),
    ]

    assert list(set_apart(parts)) == [
        *parts[:2],
        PromptPart("history", "user", "hi\n", message=3),
        PromptPart("history", "injected", NOTE, message=3),
    ]
