"""Whatever no other dialect knows: preflights, web pages, tunnels, formats not written yet.

One rule: times only. Of a reply nothing is read but the first event of a stream and the name of an
error; nothing here counts as generation, and nothing that is not JSON is worth a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.wire.sse import SseParser

from .base import ReplyReading, RequestReading
from .json_text import read_json
from .reply import error_name, labelled_stream, says_error

if TYPE_CHECKING:
    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader

_ERROR_BOUND: Final = 64 * 1024
"""Bytes of an error body that are looked at; no server says more."""


class Opaque:
    """The dialect of last resort: it always bids, and the least."""

    name: Final = "opaque"

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Always 1."""
        del request, start
        return 1

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """Nothing is understood, so nothing is claimed."""
        del request, body
        return RequestReading(generation=False)

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the first event and an error's name."""
        del request
        return _OpaqueReply(reply)


class _OpaqueReply:
    def __init__(self, reply: ReplyHead) -> None:
        self._failed = reply.status >= 400
        self._streamed = labelled_stream(reply)
        self._parser = SseParser()
        self._first_event_ns: int | None = None
        self._error_body = bytearray()
        self._error: str | None = None

    def feed(self, data: bytes, at_ns: int) -> None:
        """Take a piece of the decoded body."""
        if self._failed:
            self._error_body += data[: _ERROR_BOUND - len(self._error_body)]
        elif self._streamed and self._first_event_ns is None:
            for event in self._parser.feed(data, at_ns)[:1]:
                self._first_event_ns = event.at_ns

    def close(self) -> None:
        """No more will come: look for an error's name."""
        body = read_json(bytes(self._error_body))
        if isinstance(body, dict) and says_error(body):
            self._error = error_name(body)

    def reading(self) -> ReplyReading:
        """What was understood so far."""
        return ReplyReading(
            streamed=self._streamed,
            first_event_ns=self._first_event_ns,
            error_type=self._error,
        )
