"""Which messages of a WebSocket of the Responses API belong together.

One rule: only what routes a message is read here; what it says is the dialect's. Requests of one lane
(`stream_id`) are answered in turn, lanes side by side, and a message names its lane or there is one.
Not followed: `response.steer`, which asks for no response of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from .fields import as_object, as_text
from .json_text import read_json
from .openai_responses import CREATE
from .openai_responses_reply import ends


class Said(NamedTuple):
    """What routes a message of the server."""

    lane: str
    """Empty if it names none."""
    response: str
    """The id of the response that it is about; empty if it does not say."""
    last: bool
    """True when no other message about its response follows."""


def lane_asked(message: bytes) -> str | None:
    """The lane on which a client's message asks for a response; None if it asks for none."""
    value = as_object(read_json(message))
    if value.get("type") != CREATE:
        return None
    return as_text(value.get("stream_id")) or as_text(
        as_object(value.get("response")).get("stream_id")
    )


def said(message: bytes) -> Said:
    """What routes a server's message. One that is no JSON belongs to whatever runs."""
    value = as_object(read_json(message))
    response = as_object(value.get("response"))
    kind = as_text(value.get("type"))
    return Said(as_text(value.get("stream_id")), as_text(response.get("id")), ends(kind))
