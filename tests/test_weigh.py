"""Tokens of each piece of a prompt, from what the record says of them together."""

from __future__ import annotations

import pytest

from proxy.dialects.base import PromptPart
from proxy.journal.prefix import weigh
from tests.support.asking import talk
from tests.support.builders import part, parts, words

TOOLS = tuple(PromptPart("tools", "tool", words(300), name) for name in ("look", "write"))
SYSTEM = PromptPart("system", "system", words(500))


def test_the_weights_add_up_to_what_the_record_says():
    """By part and role, the template last."""
    given = [TOOLS[0], TOOLS[1], SYSTEM, *talk("one", "two words", "three")]
    piles = [
        *parts(tools=700, system=505),
        part("history", 6, "user"),
        part("history", 10, "assistant"),
        part("question", 9),
        part("template", 20, source="assumed: 4 a message"),
    ]
    assert [350, 350, 505, 6, 10, 29] == weigh(given, piles, 1250, lambda text: len(text.split()))


def test_what_is_left_of_the_bill_is_the_pictures():
    """Two of them share it."""
    picture = PromptPart("media", "user", "image")
    piles = [part("media", None, "image"), part("question", 10), part("template", 6)]
    given = [picture, PromptPart("question", "user", "look"), picture]
    assert [42, 10, 48] == weigh(given, piles, 100, len)
    assert [0, 10, 6] == weigh(given, piles, None, len)


def test_tools_that_the_template_drops_are_not_in_the_prompt():
    """So nothing of them can be cached or lost."""
    dropped = part("tools", 900, source="tiktoken o200k_base, not in the bill")
    given = [TOOLS[0], PromptPart("question", "user", "a b")]
    assert [0, 2] == weigh(given, [dropped, part("question", 2)], 2, len)


@pytest.mark.parametrize("piles", [parts(question=None), []])
def test_what_was_not_counted_has_no_weights(piles):
    """None, not zero."""
    assert weigh([PromptPart("question", "user", "a b")], piles, None, None) is None


def test_without_a_tokenizer_letters_divide_what_the_server_counted():
    """Two tools of one and three letters."""
    given = [PromptPart("tools", "tool", "a", "x"), PromptPart("tools", "tool", "abc", "y")]
    assert [10, 30] == weigh(given, parts(tools=40), 40, None)
