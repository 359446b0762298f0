"""What begins and ends an exchange, and what is left of it when it is sealed.

An exchange is one request and its response (RFC 9110 section 3.4), or one message pair in a tunnel.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from .head import ReplyHead, RequestHead


class Outcome(IntEnum):
    """How the transport of an exchange ended. Set once, by the relay or for it."""

    complete = 0
    """The reply came whole, and so did the request unless it was answered before its end."""
    client_gone = 1
    """The caller reset its connection, could not be written to, or left before the reply's end."""
    upstream_unreachable = 2
    """No connection: refused, DNS, TLS or connect time-out. The caller got a 502 or 504 from us."""
    upstream_aborted = 3
    """The upstream broke off: reset, or an end before the end of its message."""
    upstream_timeout = 4
    """The configured read time-out passed without a byte. Never set by default."""
    shutdown = 5
    """This proxy was stopped and its grace period was over."""
    proxy_killed = 6
    """This proxy died: the recorder sealed what it had."""
    proxy_error = 7
    """A fault of this proxy."""


CALLER_FIRST: Final = "the caller ended it"
"""The detail of a tunnel's end when the caller's FIN came before the upstream's."""

_TEXT_SEPARATOR: Final = b"\x00"


@dataclass(frozen=True, slots=True)
class Opening:
    """What is known of an exchange at its first byte."""

    at_unix_ns: int
    """Wall time of the first request byte: the one wall time of an exchange."""
    connection: int
    """Number of the caller's connection in this run, from 1."""
    route: str
    """The listen address that the caller used, `host:port`."""
    label: str
    """The operator's word for the route; empty if none was given."""
    upstream: str
    """Scheme and authority of the route's upstream, without credentials."""
    peer: str
    """The caller's address, `host:port`."""
    request_bytes: int = 0
    """Only in a resumed exchange: request bytes that came before the recorder was restarted."""
    reply_bytes: int = 0
    """Only in a resumed exchange: reply bytes that came before."""

    def at(self, unix_ns: int) -> Opening:
        """The same of an exchange that begins then. Not by `replace`, which costs three times as much."""
        texts = (self.route, self.label, self.upstream, self.peer)
        return Opening(unix_ns, self.connection, *texts, self.request_bytes, self.reply_bytes)

    def encode(self) -> bytes:
        """Text fields with a NUL between them: none of them can hold one."""
        numbers = f"{self.at_unix_ns}\0{self.connection}\0{self.request_bytes}\0{self.reply_bytes}"
        texts = (self.route, self.label, self.upstream, self.peer)
        joined = "\0".join([numbers, *(t.replace("\0", "") for t in texts)])
        return joined.encode("utf-8", "surrogateescape")

    @classmethod
    def decode(cls, data: bytes) -> Opening:
        """The opening back from its byte form. Raises ValueError on anything else."""
        fields = [f.decode("utf-8", "surrogateescape") for f in data.split(_TEXT_SEPARATOR)]
        at, connection, request, reply, *texts = fields
        route, label, upstream, peer = texts
        counts = (int(request), int(reply))
        return cls(int(at), int(connection), route, label, upstream, peer, *counts)


_ENDING: Final = struct.Struct("<BxxxQQqqqQ")


@dataclass(frozen=True, slots=True)
class Ending:
    """What the relay knows of an exchange when it is over."""

    outcome: Outcome
    request_bytes: int = 0
    reply_bytes: int = 0
    self_first_ns: int | None = None
    """Own delay of the first reply piece, read to write; None if the caller was not reading."""
    self_worst_ns: int | None = None
    """The largest own delay of a reply piece; None if there was none to measure."""
    lateness_ns: int | None = None
    """The event loop's largest lateness seen while it ran: what `self` cannot see."""
    stall_ns: int = 0
    """Time in which reply bytes waited for the caller to read."""
    detail: str = ""
    """Why, in the system's words ("Connection refused"); empty when complete, save for a tunnel that
    the caller ended: `CALLER_FIRST`."""

    def encode(self) -> bytes:
        """Fixed fields, then the detail as text. None travels as -1: no delay is negative."""
        delays = (self.self_first_ns, self.self_worst_ns, self.lateness_ns)
        numbers = (self.request_bytes, self.reply_bytes, *(-1 if d is None else d for d in delays))
        fixed = _ENDING.pack(self.outcome, *numbers, self.stall_ns)
        return fixed + self.detail.encode("utf-8", "replace")

    @classmethod
    def decode(cls, data: bytes) -> Ending:
        """The ending back from its byte form. Raises struct.error or ValueError on anything else."""
        outcome, request, reply, *delays, stall = _ENDING.unpack_from(data)
        first, worst, lateness = (None if d < 0 else d for d in delays)
        detail = data[_ENDING.size :].decode("utf-8", "replace")
        return cls(Outcome(outcome), request, reply, first, worst, lateness, stall, detail)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that could not be understood or kept: data, never an exception."""

    code: str
    """One of a closed list, each explained in docs/journal.md."""
    where: str = ""
    """Which part of the exchange, such as `request body` or `event 12`."""
    detail: str = ""
    """More, without any content of the exchange."""

    def __str__(self) -> str:
        """The form in the journal: `code: where, detail`, as far as there is something to say."""
        rest = ", ".join(t for t in (self.where, self.detail) if t)
        return f"{self.code}: {rest}" if rest else self.code


class ReplyListener(Protocol):
    """Whoever reads the body of a reply while it comes. It never raises on content."""

    def feed(self, data: bytes, at_ns: int) -> None:
        """Take a piece of the body, all codings undone, with its time of arrival."""

    def close(self) -> None:
        """No more will come."""


L_co = TypeVar("L_co", bound=ReplyListener, covariant=True)


@dataclass(frozen=True, slots=True)
class Exchange(Generic[L_co]):
    """A sealed tape. All times are monotonic ns of the relay's clock; None: it did not happen."""

    number: int
    opening: Opening
    ending: Ending
    opened_ns: int
    """First request byte: the zero of all offsets in a record."""
    ended_ns: int
    request: RequestHead | None
    """None when no whole request head came or could be read."""
    request_head_ns: int | None
    request_end_ns: int | None
    """u0. None when the request did not end."""
    request_body: bytes
    """Decoded, bounded: `notes` says when it was cut or left out."""
    reply: ReplyHead | None
    """The final response's head; None when there was none."""
    reply_head_ns: int | None
    first_byte_ns: int | None
    dial_ns: int | None
    """When the upstream connection was begun; None if that was in an earlier exchange."""
    connected_ns: int | None
    """When the upstream connection was ready; before `opened_ns` if it was reused."""
    sent_ns: int | None
    backend: str | None
    """The address really connected to, `host:port`; None when there was no connection."""
    heard: L_co | None
    """The reply's listener after its last byte; None when no reply head came."""
    notes: tuple[Note, ...] = field(default=())
    left_out_bytes: int = 0
    """Bytes of both directions that flowed but were not kept for reading."""
    message: int | None = None
    """In a tunnel, which message of the caller's asked for it, from 1; None for the tunnel and for all
    else. `number` is the tunnel's then."""

    @property
    def name(self) -> str:
        """What tells it from all others of its run: `7`, or `7.2` inside of tunnel 7."""
        return str(self.number) if self.message is None else f"{self.number}.{self.message}"
