"""What a prompt is made of: parts in order, sums that meet the bill exactly, or left as counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.base import PromptPart, RequestReading
from proxy.journal import composition
from tests.support.builders import counter, words

TOKENIZER = counter().tokenizer("qwen")
COUNTED = "tiktoken o200k_base"
SCALED = "tiktoken o200k_base, scaled to usage"
ASSUMED = "assumed: 4 around the question, 3 for the answer"
FRAME = 12
"""Tokens that are assumed around a list of tools; around a message 4, in an empty chat 7."""


def compose(parts, billed, tokenizer, **changes):
    """A prompt of these parts, each a message of its own unless it is a tool."""
    parts = tuple(
        part if part.part == "tools" or part.message is not None else replace(part, message=n)
        for n, part in enumerate(parts)
    )
    return composition.compose(RequestReading(parts=parts, **changes), billed, tokenizer)


def tool(tokens, name="search"):
    """A tool's definition of so many tokens."""
    return PromptPart("tools", "tool", words(tokens), name)


def system(tokens):
    """System text of so many tokens."""
    return PromptPart("system", "system", words(tokens))


def question(tokens):
    """The user's question of so many tokens."""
    return PromptPart("question", "user", words(tokens))


def history(tokens, role="user"):
    """An earlier message of so many tokens."""
    return PromptPart("history", role, words(tokens))


def rows(composition):
    """The parts as (part, role, tokens)."""
    return [(p.part, p.role, p.tokens) for p in composition.parts]


def sources(composition):
    """Where each part's tokens come from."""
    return {p.part: p.source for p in composition.parts}


def codes(composition):
    """Codes of the notes."""
    return [n.code for n in composition.notes]


def test_parts_stand_in_template_order_one_for_each_role():
    """Tools, system, history by role, tool results, question, media, template: as templates render."""
    prompt = [
        question(5),
        PromptPart("media", "user", "image"),
        history(7),
        history(11, "assistant"),
        PromptPart("tool_results", "tool", words(13)),
        history(17),
        system(19),
        PromptPart("system", "developer", words(23)),
        tool(29),
        tool(31, "fetch"),
    ]
    found = compose(prompt, None, TOKENIZER)
    assert rows(found) == [
        ("tools", "tool", 60 + FRAME),
        ("system", "system", 19 + 4),
        ("system", "developer", 23 + 4),
        ("history", "user", 24 + 2 * 4),
        ("history", "assistant", 11 + 4),
        ("tool_results", "tool", 13 + 4),
        ("question", "user", 5),
        ("media", "image", None),
        ("template", "template", 4 + 3),
    ]
    assert [p.count for p in found.parts] == [2, 1, 1, 2, 1, 1, 1, 1, 0]


def test_media_are_told_apart_by_their_kind():
    """Two pictures and a sound are two parts: what one costs says nothing of the other."""
    kinds = ("image", "audio", "image")
    found = compose([PromptPart("media", "user", k) for k in kinds], None, TOKENIZER)
    assert [(p.role, p.count) for p in found.parts] == [("image", 2), ("audio", 1)]


def test_marks_are_counted_once_for_a_message():
    """A message in several pieces has one pair of marks around it; the question's are the template's."""
    pieces = [PromptPart("history", "user", words(5), message=0) for _ in range(3)]
    asked = [PromptPart("question", "user", words(5), message=n) for n in (1, 1, 2)]
    found = compose([*pieces, *asked], None, TOKENIZER)
    assert rows(found) == [
        ("history", "user", 15 + 4),
        ("question", "user", 15 + 4),
        ("template", "template", 7),
    ]
    assert [p.count for p in found.parts] == [1, 2, 0]


def test_numbers_are_counted_digit_by_digit_where_the_bill_says_so():
    """Some tokenizers make a token of each digit: what comes nearer to the bill is taken."""
    table = PromptPart("tool_results", "tool", "1234567890 " * 300)
    plain = compose([table, question(1)], 330, TOKENIZER)
    split = compose([table, question(1)], 2200, TOKENIZER)
    assert plain.counting.counted == 301
    assert split.counting.counted == 301 + 300 * (10 - 4)
    assert sources(split)["tool_results"] == "tiktoken o200k_base, digit by digit, scaled to usage"
    assert sum(tokens for _, _, tokens in rows(split)) == 2200


def test_a_bill_for_more_than_the_parts_scales_nothing():
    """Where the server adds what it keeps itself, its number is not for what was sent."""
    found = compose([system(100), question(100)], 260, TOKENIZER, whole=False)
    assert rows(found)[0] == ("system", "system", 104)
    assert found.counting.scale is None
    assert codes(found) == []


def test_without_a_bill_parts_stay_as_counted():
    """The template is assumed and says so; nothing is scaled."""
    found = compose([system(10), question(5)], None, TOKENIZER)
    assert sources(found) == {"system": COUNTED, "question": COUNTED, "template": ASSUMED}
    assert found.counting.counted == 15
    assert found.counting.tokenizer == COUNTED
    assert found.counting.billed is None
    assert found.counting.residual is None
    assert found.counting.scale is None


def test_parts_are_scaled_to_the_bill():
    """The template is taken off the bill, the rest shared out in proportion, and the sum is exact."""
    found = compose([tool(600), system(300), question(100)], 1223, TOKENIZER)
    assert rows(found) == [
        ("tools", "tool", 720 + FRAME),
        ("system", "system", 360 + 4),
        ("question", "user", 120),
        ("template", "template", 7),
    ]
    assert sources(found)["tools"] == SCALED
    assert sources(found)["template"] == ASSUMED
    assert found.counting.scale == pytest.approx(1.2)
    assert found.counting.counted == 1000
    assert found.counting.residual == 223
    assert codes(found) == []


def test_largest_remainders_get_what_is_left_over():
    """Three equal parts of 100 tokens cannot be equal: the first of equal remainders gets the token."""
    found = compose([history(30), history(30, "assistant"), question(30)], 100 + 15, TOKENIZER)
    assert [tokens for _, _, tokens in rows(found)] == [34 + 4, 33 + 4, 33, 7]


@given(
    counts=st.lists(st.integers(0, 3_000), min_size=1, max_size=12),
    permille=st.integers(601, 1599),
)
def test_scaled_parts_add_up_to_the_bill(counts, permille):
    """Whatever the sizes and the factor: the sum is the bill and no part is negative or far off."""
    prompt = [PromptPart("history", f"role {n}", words(count)) for n, count in enumerate(counts)]
    template = len(counts) * 4 + 7
    billed = template + sum(counts) * permille // 1000
    found = compose(prompt, billed, TOKENIZER)
    if found.counting.scale is None:
        return  # a prompt too small for a ratio: another rule's
    assert billed == sum(p.tokens for p in found.parts)
    for part, count in zip(found.parts, counts, strict=False):
        assert abs(part.tokens - 4 - count * found.counting.scale) < 1


def test_a_small_difference_is_the_template():
    """A server's own default system prompt (SmolLM2's has 20 tokens) is not put on a two-word question."""
    found = compose([question(2)], 31, TOKENIZER)
    assert rows(found) == [("question", "user", 2), ("template", "template", 29)]
    assert sources(found) == {"question": COUNTED, "template": "usage minus parts"}
    assert found.counting.scale is None
    assert codes(found) == []


@pytest.mark.parametrize("billed", [0, 499, 2000])
def test_a_bill_that_contradicts_the_count_changes_nothing(billed):
    """Nothing, half or double of what was counted is no matter of tokenizers: the count stays, and a note."""
    found = compose([system(900), question(100)], billed, TOKENIZER)
    assert rows(found)[:2] == [("system", "system", 904), ("question", "user", 100)]
    assert sources(found)["system"] == COUNTED
    assert found.counting.scale is None
    assert found.counting.residual == billed - 1000
    assert [str(n) for n in found.notes] == [
        f"count_mismatch: prompt, {billed} billed, 1000 counted"
    ]


def test_tools_that_the_template_drops_are_not_in_the_bill():
    """SmolLM2's template renders no tools: 23 tokens are billed with 9 tools and without them."""
    prompt = [*(tool(136, f"tool {n}") for n in range(9)), question(3)]
    found = compose(prompt, 23, TOKENIZER)
    assert rows(found) == [
        ("tools", "tool", 1224),
        ("question", "user", 3),
        ("template", "template", 20),
    ]
    assert sources(found)["tools"] == "tiktoken o200k_base, not in the bill"
    assert found.tools.tokens == 1224
    assert found.counting.residual == 23 - 1227
    assert [str(n) for n in found.notes] == [
        "template_drops_tools: prompt, 23 billed, 1227 counted"
    ]


def test_the_rest_of_such_a_prompt_is_scaled():
    """With a long prompt the bill, tools left out, is the sum of the other parts."""
    found = compose([tool(1224), system(700), question(300)], 1211, TOKENIZER)
    assert rows(found) == [
        ("tools", "tool", 1224),
        ("system", "system", 840 + 4),
        ("question", "user", 360),
        ("template", "template", 7),
    ]
    assert sources(found)["system"] == SCALED
    assert codes(found) == ["template_drops_tools"]


def test_tools_that_the_template_renders_are_in_the_bill():
    """The same server with a template that renders them billed 1,256 tokens."""
    prompt = [*(tool(130, f"tool {n}") for n in range(9)), question(3)]
    found = compose(prompt, 1256, TOKENIZER)
    assert sum(tokens for _, _, tokens in rows(found)) == 1256
    assert found.tools.tokens == 1246
    assert codes(found) == []


def test_tools_are_not_accused_when_nothing_fits():
    """A bill that fits neither with the tools nor without them says nothing about them."""
    found = compose([tool(1000), question(1000)], 200, TOKENIZER)
    assert codes(found) == ["count_mismatch"]
    assert sources(found)["tools"] == COUNTED


def test_media_have_no_tokens_and_stop_the_scaling():
    """What pictures cost is in the bill too: it must not be put on the text."""
    prompt = [PromptPart("media", "user", "image"), question(700)]
    found = compose(prompt, 1120, TOKENIZER)
    assert rows(found)[:2] == [("question", "user", 700), ("media", "image", None)]
    assert sources(found) == {"question": COUNTED, "media": "not counted", "template": ASSUMED}
    assert found.counting.scale is None
    assert codes(found) == []


def test_a_raw_prompt_has_no_template():
    """Text without roles goes to the model as it is."""
    prompt = [PromptPart("question", "", words(100))]
    assert rows(compose(prompt, 110, TOKENIZER)) == [("question", "", 110)]
    assert rows(compose(prompt, None, TOKENIZER)) == [("question", "", 100)]


def test_the_template_is_never_counted_from_text():
    """A piece that a dialect calls template adds nothing: the bill and the assumption do."""
    found = compose([PromptPart("template", "x", words(50)), question(10)], None, TOKENIZER)
    assert rows(found) == [("question", "user", 10), ("template", "template", 7)]


def test_without_a_tokenizer_nothing_is_counted():
    """The parts are named, their tokens are null; the bill is kept."""
    found = compose([tool(10), question(5)], 40, None)
    assert rows(found) == [("tools", "tool", None), ("question", "user", None)]
    assert sources(found) == {"tools": "not counted", "question": "not counted"}
    assert found.tools.count == 1
    assert found.tools.tokens is None
    assert found.tool_set.source == "not counted"
    assert found.counting.billed == 40
    assert found.counting.counted is None
    assert found.counting.tokenizer is None


def test_without_parts_there_is_only_the_bill():
    """A prompt that could not be read has no parts, no tools and no note of a mismatch."""
    found = compose([], 40, TOKENIZER)
    assert found.parts == []
    assert found.tools is None
    assert found.tool_set is None
    assert found.counting.billed == 40
    assert found.counting.counted is None
    assert found.notes == ()
