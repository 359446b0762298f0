"""Where messages end (RFC 9112 section 6): offsets out, nothing decoded, nothing raised.

One rule: `feed` stops at each boundary (behind a head, behind a message), so that whoever moves the
bytes can act there. On the request side that is on the byte path, since it decides where the next
`Host` stands; on the reply side it serves the tap alone. In doubt a message is `UNFRAMED`: its bytes
flow, and nothing behind them is claimed to be known.

Road not taken: httptools and h11 give no offset of a message's end, cannot be told that a reply answers
HEAD, and raise on input that servers accept. Both are the oracles of the differential test.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from .chunked import ChunkedFraming
from .head import Headers, ReplyHead, RequestHead, parse_reply_head, parse_request_head, values

if TYPE_CHECKING:
    from .chunked import Spans

MAX_HEAD: Final = 64 * 1024
"""A head longer than this is not held any further: the side goes unframed."""

_LOOKED_AT: Final = 512
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_REQUEST_START: Final = re.compile(
    rb"(?:" + _TOKEN + rb"{1,64}(?: +(?:[^\x00-\x1f\x7f]+\r?)?)?)?"
)  # what may still become `token SP target`; bytes over 0x7f occur in targets as sent
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_STATUS_START: Final = b"HTTP/"


class Stage(Enum):
    """How far a message has come."""

    HEAD = auto()
    BODY = auto()
    DONE = auto()
    UNFRAMED = auto()
    """Nothing more can be told apart on this side of the connection."""
    TUNNEL = auto()
    """The connection is no longer HTTP (101, or 2xx to CONNECT)."""


class Body(Enum):
    """What says where a body ends."""

    NONE = auto()
    LENGTH = auto()
    CHUNKED = auto()
    CLOSE = auto()
    """The end of the connection (RFC 9112 section 6.3, rule 8)."""
    TUNNEL = auto()
    DOUBT = auto()
    """Contradictory or unreadable: two readers could disagree about the end."""


H = TypeVar("H", RequestHead, ReplyHead)


class MessageFraming(ABC, Generic[H]):
    """One message, and the interim heads before it. Feed it until `stage` says it is over."""

    def __init__(self) -> None:
        self.stage = Stage.HEAD
        self.head: H | None = None
        """The message's head; None until it is read. Interim heads before it are passed over."""
        self.raw_head = bytearray()
        """The bytes of the head so far, its last empty line included once it is whole."""
        self.body = Body.NONE
        self._left = 0
        self._chunked = ChunkedFraming()

    def feed(self, data: bytes, start: int, spans: Spans | None = None) -> int:
        """Read on from `start` to the next boundary or the end; return the offset reached.

        Boundaries are the end of a head and the end of the message. Body bytes without their framing
        are reported into `spans` if given.
        """
        if self.stage is Stage.BODY:
            return self._feed_body(data, start, spans)
        if self.stage is Stage.HEAD:
            return self._feed_head(data, start)
        return len(data)

    def whole_chunk(self, data: bytes) -> tuple[int, int] | None:
        """Where the content lies if this piece is a chunk of the body and nothing else.

        Then it has been read, and nothing begins or ends in it. None: nothing was read; feed it.
        """
        if self.body is not Body.CHUNKED or self.stage is not Stage.BODY:
            return None
        return self._chunked.whole(data)

    def close(self) -> bool:
        """The sender is done. True when the message is whole."""
        if self.stage is Stage.BODY and self.body is Body.CLOSE:
            self.stage = Stage.DONE
        return self.stage is Stage.DONE

    @abstractmethod
    def _plausible(self) -> bool:
        """True while the bytes so far may become a head."""

    @abstractmethod
    def _parse(self, raw: bytes) -> H | None:
        """The head, if it can be read."""

    @abstractmethod
    def _interim(self, head: H) -> bool:
        """True for a head that another one of the same message follows."""

    @abstractmethod
    def _frame(self, head: H) -> tuple[Body, int]:
        """What ends the body behind `head`, and its length where that is known."""

    def _feed_head(self, data: bytes, start: int) -> int:
        raw = self.raw_head
        known = len(raw)
        raw += data[start : start + MAX_HEAD - known]
        found = _HEAD_END.search(raw, max(0, known - 2))
        if found is None:
            if len(raw) == MAX_HEAD or not self._plausible():
                self.stage = Stage.UNFRAMED
            return start + len(raw) - known
        del raw[found.end() :]
        self._head_read(bytes(raw))
        return start + found.end() - known

    def _head_read(self, raw: bytes) -> None:
        head = self._parse(raw) if self._plausible() else None
        if head is None:
            self.stage = Stage.UNFRAMED
            return
        if self._interim(head):
            self.raw_head.clear()
            return
        self.head = head
        self.body, self._left = self._frame(head)
        self.stage = _STAGE_AFTER_HEAD[self.body]

    def _feed_body(self, data: bytes, start: int, spans: Spans | None) -> int:
        if self.body is Body.CHUNKED:
            position = self._chunked.feed(data, start, spans)
            if self._chunked.done:
                self.stage = Stage.DONE
            elif self._chunked.broken:
                self.stage = Stage.UNFRAMED
            return position
        end = len(data)
        if self.body is Body.LENGTH:
            end = min(end, start + self._left)
            self._left -= end - start
            if not self._left:
                self.stage = Stage.DONE
        if spans is not None and end > start:
            spans.append((start, end))
        return end


_STAGE_AFTER_HEAD: Final = {
    Body.NONE: Stage.DONE,
    Body.LENGTH: Stage.BODY,
    Body.CHUNKED: Stage.BODY,
    Body.CLOSE: Stage.BODY,
    Body.TUNNEL: Stage.TUNNEL,
    Body.DOUBT: Stage.UNFRAMED,
}


class RequestFraming(MessageFraming[RequestHead]):
    """One request."""

    def _plausible(self) -> bool:
        # The first bytes decide: a target dribbled byte by byte must not be read again each time.
        start, newline, _ = bytes(self.raw_head[:_LOOKED_AT]).partition(b"\n")
        return bool(_REQUEST_START.fullmatch(start)) and not (newline and b" " not in start)

    def _parse(self, raw: bytes) -> RequestHead | None:
        return parse_request_head(raw)

    def _interim(self, head: RequestHead) -> bool:  # noqa: ARG002  requests have no interim heads
        return False

    def _frame(self, head: RequestHead) -> tuple[Body, int]:
        return request_body(head)


class ReplyFraming(MessageFraming[ReplyHead]):
    """The reply to one request, with the interim responses before it."""

    def __init__(self, method: str) -> None:
        """`method` of the request: a reply to HEAD has no body, one to CONNECT may open a tunnel."""
        super().__init__()
        self.method = method

    def _plausible(self) -> bool:
        start = bytes(self.raw_head[: len(_STATUS_START)])
        return _STATUS_START.startswith(start)

    def _parse(self, raw: bytes) -> ReplyHead | None:
        return parse_reply_head(raw)

    def _interim(self, head: ReplyHead) -> bool:
        return head.interim

    def _frame(self, head: ReplyHead) -> tuple[Body, int]:
        return reply_body(head, self.method)


def request_body(head: RequestHead) -> tuple[Body, int]:
    """How a request's body ends, with its length (RFC 9112 section 6.3, rules 4 to 7).

    Both codings at once, or a length that servers read differently, is doubt: section 6.1 calls that
    request smuggling. So is a coding before HTTP/1.1, and anything but HTTP/1.x (prior-knowledge
    HTTP/2, HTTP/0.9).
    """
    if head.version[0] != 1:
        return Body.DOUBT, 0
    codings = _tokens(head.headers, "transfer-encoding")
    lengths = _tokens(head.headers, "content-length")
    if codings:
        sure = codings == ["chunked"] and not lengths and head.version != (1, 0)
        return (Body.CHUNKED if sure else Body.DOUBT), 0
    return _by_length(lengths) if lengths else (Body.NONE, 0)


def reply_body(head: ReplyHead, method: str) -> tuple[Body, int]:
    """How a reply's body ends, with its length (RFC 9112 section 6.3, rules 1 to 8)."""
    if head.status == 101 or (method == "CONNECT" and 200 <= head.status < 300):
        return Body.TUNNEL, 0
    if method == "HEAD" or head.status in (204, 304):
        return Body.NONE, 0
    codings = [c for c in _tokens(head.headers, "transfer-encoding") if c]
    if codings:
        return (Body.CHUNKED if codings[-1] == "chunked" else Body.CLOSE), 0
    lengths = _tokens(head.headers, "content-length")
    return _by_length(lengths) if lengths else (Body.CLOSE, 0)


def _by_length(lengths: list[str]) -> tuple[Body, int]:
    # Equal duplicates are one length (RFC 9110 section 8.6); `int` alone would take "+5" and "1_0".
    if len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0]):
        return Body.DOUBT, 0
    length = int(lengths[0])
    return (Body.LENGTH if length else Body.NONE), length


def _tokens(headers: Headers, name: str) -> list[str]:
    # Empty elements are kept: RFC 9110 section 5.6.1.2 ignores them, but not every server does.
    return [token.strip(" \t").lower() for v in values(headers, name) for token in v.split(",")]
