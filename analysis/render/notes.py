"""What each note of a record means, in words: what docs/journal.md says, and a test holds the two together.

One rule: a code that is not known here is shown as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MEANINGS: Final[Mapping[str, str]] = {
    "answer_pending": "the answer is made in the background and fetched later: this reply holds none",
    "audio_output": "the answer holds audio, of which only the transcript is counted",
    "coding_broken": "a content coding could not be undone from some byte on",
    "coding_cut": "a coded body ended inside of its coding",
    "coding_too_long": "a coded body became longer than any prompt or answer is",
    "coding_unknown": "a content coding that is not known here",
    "content_encrypted": "something that only the vendor can read (reasoning, a page that was found): it is in the bill, but in no part and no count of its own",
    "content_left_out": "bytes flowed but were not kept: nothing of that direction is read from there on",
    "content_part_unknown": "a piece of a message has a type that is not known; it is not counted",
    "count_mismatch": "the bill is far from what was counted: parts stay as counted",
    "event_cut": "a stream ended inside of an event",
    "event_not_json": "an event is not the JSON that the format asks for",
    "event_too_long": "an event was longer than any is, and was passed over",
    "field_not_understood": "a field of the request has a shape that is not known",
    "hidden": "the request was sent by the client for itself: what for, and the signs that say so",
    "hosted_tools": "tools that the server brings itself: what the model reads of them is not seen, only their call in the request is counted",
    "item_unknown": "an item of the prompt has a type that is not known; it is not counted",
    "media_output": "the answer holds a picture or the like, of which nothing is counted but what the server billed",
    "memory_failed": "a fault of this proxy in comparing with earlier exchanges: no thread, turn and prefix",
    "message_not_followed": "more was asked at a time in one tunnel than is followed: it has no record",
    "message_too_long": "a message in a tunnel was too long to be kept: nothing of that direction is read from there on",
    "more_notes": "there were more notes than a record keeps",
    "previous_response": "the prompt goes on from what only the server has (a response, a conversation, a stored prompt or item): its tokens are not known, and the parts stay as counted",
    "prewarm": "the request asked for a prefill and no output",
    "prompt_as_token_ids": "the prompt came as numbers of tokens, so there is no text to count: its parts are left out",
    "prompt_echoed": "the answer was to repeat the prompt: where the output is counted here, that is in the count",
    "prompt_incomplete": "the prompt begins with a cache that the server keeps under a name: what is in it is in no part",
    "reading_failed": "a fault of this proxy in reading: times only",
    "redirect_past_proxy": "a redirect names the upstream's own address: a client that follows it goes past this proxy, and what it sends there has no record",
    "reply_not_json": "a reply's body is not the JSON that the format asks for",
    "reply_too_long": "a reply's body was too long to be kept until it was whole",
    "reply_unframed": "the upstream's bytes could not be told into messages; they still flowed",
    "request_not_json": "the request's body is not the JSON that the format asks for",
    "request_unframed": "the caller's bytes could not be told into messages; they still flowed",
    "response_format_not_counted": "a schema for the answer, which some templates put into the prompt, is not counted",
    "response_unasked": "a response came in a tunnel that no request there had asked for: it has no record",
    "resumed": "the recorder was restarted during the exchange: what came before is not read",
    "reused_connection": "the upstream broke off before it answered, on a connection used before: it may have closed that one just then",
    "role_unknown": "a message has a role that is not known; it counts as history",
    "server_count_failed": "the server was asked to count and did not answer as it should: it is left alone for half a minute",
    "server_count_left_out": "the server was not asked: the prompt was too long, or too many exchanges waited",
    "several_choices": "several answers were asked for at once: rates per token mean little",
    "template_drops_tools": "the bill fits the prompt without its tools: the server's template leaves them out",
    "text_bounded": "the answer was longer than what is kept for counting",
    "tools_deferred": "tools are marked to be loaded later: they are counted here, but whether they are in the prompt is for the server to say",
    "tunnel": "the reply turned the connection into a tunnel",
    "usage_zero": "the server billed no output though there was some: taken as not said",
    "websocket_broken": "a direction of a tunnel could not be told into messages: nothing of it is read from there on",
}


def meaning(note: str) -> str | None:
    """Of a note as a record has it, `code: where, detail`; None for a code of a later version."""
    return MEANINGS.get(note.partition(":")[0])
