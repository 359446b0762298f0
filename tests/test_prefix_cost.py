"""What comparing a prompt costs, and what is said where there are no counts."""

from __future__ import annotations

from proxy.dialects.base import PromptPart
from proxy.journal.record import Difference
from tests.support.asking import Client, talk
from tests.support.builders import words


def test_a_prompt_without_counts_has_a_parent_and_no_tokens():
    """What differs is told all the same."""
    client = Client()
    client.send(PromptPart("system", "system", "noon"), *talk("hello"), counted=False)
    for counted in (False, True):
        night = PromptPart("system", "system", "night")
        found = client.send(night, *talk("hello"), counted=counted).prefix
        numbers = (found.shared, found.expected, found.lost, found.cause)
        assert numbers == (None, None, None, None)
    assert "r1-2" == found.parent
    assert found.difference is None
    found = client.send(PromptPart("system", "system", "n."), *talk("hello")).prefix
    assert Difference(part="system", offset=1) == found.difference


def test_a_long_conversation_costs_a_few_milliseconds():
    """100,000 tokens in 300 parts: each turn after the first, best of five; 5 ms here, at most 20."""
    client = Client()
    front = [PromptPart("tools", "tool", words(300), f"tool {n}") for n in range(30)]
    texts = [f"message {n} {words(339)}" for n in range(269)]
    costs = []
    for turn in range(6):
        record = client.send(*front, *talk(*texts))
        costs.append(client.cost_ns)
        texts += [f"answer {turn}", f"question {turn}"]
    assert len(front) + len(texts) - 12 == 299
    assert sum(part.tokens for part in record.parts) > 100_000
    assert "r1-5" == record.prefix.parent
    assert min(costs[1:]) < 20_000_000
