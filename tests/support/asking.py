"""A client that sends prompts through one memory, as the recorder's second stage does.

One rule: a token is a word, so that every figure can be counted by eye.
"""

from __future__ import annotations

import time

from proxy.dialects.base import PromptPart, Usage
from proxy.journal.derive import Context, Understood, derive
from proxy.journal.memory import Memory
from proxy.journal.record import Load
from tests.support.builders import (
    MS,
    OPENED_NS,
    S,
    asked,
    counter,
    exchange,
    opening,
    request_head,
    said,
)


class Client:
    """Sends prompts through one memory, 10 s after one another, to a server that caches nothing."""

    def __init__(self, **request):
        self.memory = Memory()
        self.now = OPENED_NS
        self.number = 0
        self.cost_ns = 0
        """CPU time of the memory for the last prompt, all its texts having been counted before."""
        self.request = {"model": "m"} | request

    def send(self, *prompt, after_ns=10 * S, upstream=None, headers=None, body=b"{}", **changes):
        """Send a prompt and see its answer; the record. `said`: fields of the answer.

        `cached` is what the server reports, `session` a conversation's id as opencode sends it; `bare`:
        no request head could be read; not `counted`: no tokenizer was at hand.
        """
        self.now += after_ns
        self.number += 1
        bare, counted = changes.pop("bare", False), changes.pop("counted", True)
        cached, session = changes.pop("cached", None), changes.pop("session", None)
        named = {"x_session_id": session} if session else {}
        heard = {"first_token_ns": self.now + 100 * MS, "model": None} | changes.pop("said", {})
        ask = asked(*prompt, **(self.request | changes))
        tape = exchange(
            number=self.number,
            opening=opening(**({"upstream": upstream} if upstream else {})),
            opened_ns=self.now,
            ended_ns=self.now + 2 * S,
            request=None if bare else request_head(**named, **(headers or {})),
            request_body=body,
        )
        answer = said(**({"usage": Usage(cached=cached)} | heard))
        understood = Understood("openai_chat", ask, answer)
        tokens = counter() if counted else None
        derived = derive(tape, understood, Context("r1", Load(), tokens))
        start_ns = time.process_time_ns()
        try:
            return self.memory.place(tape, understood, derived.record, tokens)
        finally:
            self.cost_ns = time.process_time_ns() - start_ns


def talk(*texts, first=0):
    """Messages of the user and the model in turn; the last one is the question."""
    roles = ("user", "assistant")
    for n, text in enumerate(texts):
        name = "question" if n == len(texts) - 1 else "history"
        yield PromptPart(name, roles[n % 2], text, message=n + first)
