"""A prompt as a chain of hashes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.dialects.base import PromptPart
from proxy.journal.pieces import in_common, letters, pieces, prompt

TEXT = st.text(max_size=40)


def ask(*parts, cache="here\0m", session=None):
    """A prompt of these parts."""
    return prompt(parts, "r1-1", cache, session, 0)


SYSTEM = PromptPart("system", "system", "Be brief.")
TOOL = PromptPart("tools", "tool", "{}", "look")
HELLO = PromptPart("question", "user", "Hello")


@given(TEXT, TEXT, TEXT)
@example("", "ä", "ö")
@example("x", "ä", "äö")
def test_what_two_texts_have_in_common_ends_between_characters(front, one, other):
    """It is as long as Python's own comparison of the characters says, however many bytes they take."""
    a, b = front + one, front + other
    same = next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    size = in_common(a.encode(), b.encode())
    assert letters(a.encode()[:size]) == same


def test_half_a_surrogate_pair_is_a_character():
    """JSON can hold one, and then it is counted like any other."""
    (piece,) = pieces([PromptPart("question", "user", "a\ud800b")])
    assert 3 == letters(piece.data)


def test_a_key_stands_for_all_in_front_of_it():
    """Two prompts have the same key as far as they are the same, and none from there on."""
    one = ask(TOOL, SYSTEM, HELLO)
    other = ask(TOOL, PromptPart("system", "system", "Be long."), HELLO)
    assert one.keys[0] == other.keys[0]
    assert not set(one.keys[1:]) & set(other.keys[1:])


def test_the_conversation_has_a_chain_of_its_own():
    """It is the same behind another front, and has what the client put in left out."""
    reminder = PromptPart("question", "injected", "<system-reminder>x</system-reminder>")
    assert ask(SYSTEM, HELLO).talk == ask(TOOL, reminder, HELLO).talk
    assert 1 == len(ask(TOOL, SYSTEM, HELLO).talk)


@pytest.mark.parametrize(
    "same",
    [
        PromptPart("history", "user", "Hello"),
        PromptPart("question", "injected", "Hello"),
        PromptPart("question", "user", "Hello", message=7),
    ],
)
def test_what_a_part_is_for_does_not_change_what_a_model_reads(same):
    """The question of this turn is history in the next."""
    assert ask(HELLO).keys == ask(same).keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HELLO, PromptPart("history", "assistant", "Hello")),
        (TOOL, PromptPart("tools", "tool", "{}", "peek")),
        (TOOL, PromptPart("tool_results", "tool", "{}", "look")),
    ],
)
def test_who_says_it_does(one, other):
    """The same words of another role, or of another tool, are another piece."""
    assert ask(one).keys != ask(other).keys


def test_another_cache_has_other_keys():
    """A model cannot use what another one read."""
    assert ask(HELLO).keys != ask(HELLO, cache="here\0n").keys


def test_the_template_is_no_piece():
    """It has no text."""
    assert () == ask(PromptPart("template", "template", "")).pieces
