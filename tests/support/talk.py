"""One plain chat turn, as bytes: a question with a secret and a sentence to look for, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tests.support.bodies import STREAM_HEAD, chunk, delta, request, sse
from tests.support.upstream import Await, Pause, Send

if TYPE_CHECKING:
    from tests.support.upstream import Step

SECRET = "sk-live-0123456789abcdef"
WORDS = "an unmistakable sentence of the user"
BODY = orjson.dumps(
    {
        "model": "tiny",
        "stream": True,
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": WORDS},
        ],
    }
)
ASK = request(BODY, f"Authorization: Bearer {SECRET}", "User-Agent: test/1.0")
ROLE = chunk(delta("", role="assistant"))
DONE = chunk(sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
END = chunk(sse("[DONE]")) + b"0\r\n\r\n"
USAGE = chunk(sse({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 3}}))


def stream(words: list[str], gap_s: float) -> list[Step]:
    """A reply: role at once, then a word after each gap, then the end."""
    steps: list[Step] = [Await(), Send(STREAM_HEAD), Send(ROLE)]
    for word in words:
        steps += [Pause(gap_s), Send(chunk(delta(word)))]
    return [*steps, Send(DONE), Send(USAGE), Send(END)]


def whole(words: list[str]) -> bytes:
    """All bytes of that reply."""
    return STREAM_HEAD + ROLE + b"".join(chunk(delta(w)) for w in words) + DONE + USAGE + END
