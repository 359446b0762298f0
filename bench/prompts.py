"""The requests: a long conversation with many tools, a short question, and big pictures.

One rule: the same text on each run. It is about this project and made here; the last message differs
from request to request, as in a chat, so that the prefix is one that was seen before.
"""

from __future__ import annotations

import base64
import itertools
import random
from typing import TYPE_CHECKING, Any, Final

import orjson

from .clock import monotonic_ns

if TYPE_CHECKING:
    from .script import Script

_SUBJECTS: Final = ("the proxy", "a caller", "the upstream", "the recorder", "one exchange")
_VERBS: Final = ("waits for", "writes to", "counts what came from", "closes behind", "learns from")
_OBJECTS: Final = ("the next chunk", "its own journal", "an idle socket", "the last request")
_TAILS: Final = (
    "because nobody else would notice it in time",
    "unless the first byte has already gone out",
    "and says so in a single line that a person can read",
    "while 64 other streams go on at 20 ms each",
    "before anything of the body has been understood",
)
_ACTIONS: Final = ("list", "read", "create", "change", "remove", "search")
_THINGS: Final = ("file", "ticket", "calendar entry", "container", "invoice")
PROSE_BYTES: Final = 16_000


def _prose(size: int) -> str:
    parts = itertools.product(_TAILS, _OBJECTS, _VERBS, _SUBJECTS)
    sentences = (
        f"{subject.capitalize()} {verb} {thing} {tail}; this is rule {number}."
        for number, (tail, thing, verb, subject) in enumerate(itertools.cycle(parts))
    )
    text = ""
    while len(text) < size:
        text += " ".join(itertools.islice(sentences, 5)) + "\n\n"
    return text[:size]


def _tool(action: str, thing: str) -> dict[str, Any]:
    properties = {
        "name": {"type": "string", "description": f"Which {thing} to {action}, by its full name."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "description": "At most so many.",
        },
        "reason": {"type": "string", "enum": ["asked", "needed", "guessed"]},
    }
    parameters = {"type": "object", "properties": properties, "required": ["name"]}
    told = (
        f"Use this to {action} a {thing}. It gives back what was done, or why it could not be done."
    )
    named = f"{action}_{thing.replace(' ', '_')}"
    return {
        "type": "function",
        "function": {"name": named, "description": told, "parameters": parameters},
    }


def _body(script: Script, messages: list[dict[str, Any]], **more: Any) -> bytes:
    streamed = {"stream": True, "stream_options": {"include_usage": True}} if script.chunks else {}
    return orjson.dumps({"model": script.model, "messages": messages, **streamed, **more})


class LongPrompt:
    """A prompt of about 32 KB and 8,000 tokens: a system text and 30 tools."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._system = {"role": "system", "content": _prose(PROSE_BYTES)}
        self._tools = [_tool(*each) for each in itertools.product(_ACTIONS, _THINGS)]
        self._asked = monotonic_ns()

    def body(self) -> bytes:
        """The prompt with another last message than before."""
        self._asked += 1
        last = {"role": "user", "content": f"And what about case number {self._asked}, in short?"}
        return _body(self._script, [self._system, last], tools=self._tools)


def short(script: Script) -> bytes:
    """One question."""
    return _body(script, [{"role": "user", "content": "Say in one word how the weather is today."}])


def picture(script: Script, size: int) -> bytes:
    """A question about a picture of so many bytes, which makes up the whole body but for a little."""
    noise = random.Random(size).randbytes(size * 3 // 4 - 300)  # noqa: S311  a picture, no secret
    url = f"data:image/png;base64,{base64.b64encode(noise).decode()}"
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    return _body(script, [{"role": "user", "content": parts}])
