"""One exchange in flight as the relay counts it, and whoever it is told to.

One rule: what is counted here goes into the exchange's last word, so that it is right even when the recorder
has missed all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .exchange import Ending

if TYPE_CHECKING:
    from .exchange import Opening, Outcome
    from .frame import Kind


class Flow:
    """One exchange in flight, as the relay knows it."""

    __slots__ = (
        "first_ns",
        "lateness_ns",
        "method",
        "number",
        "replied",
        "reply_bytes",
        "request_bytes",
        "requested",
        "sent",
        "stall_ns",
        "worst_ns",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.method = ""
        self.requested = False
        """True when the request is whole."""
        self.replied = False
        """True when the reply is whole."""
        self.sent = False
        """True when the whole request is with the kernel."""
        self.request_bytes = 0
        self.reply_bytes = 0
        self.first_ns: int | None = None
        self.worst_ns: int | None = None
        self.lateness_ns: int | None = None
        self.stall_ns = 0

    def delayed(self, own_ns: int | None) -> None:
        """This proxy's own delay of the reply piece that is about to be counted."""
        if not self.reply_bytes:
            self.first_ns = own_ns
        if own_ns is not None and (self.worst_ns is None or own_ns > self.worst_ns):
            self.worst_ns = own_ns

    def ending(self, outcome: Outcome, detail: str) -> Ending:
        """What is known now, as the last word."""
        delays = (self.first_ns, self.worst_ns, self.lateness_ns)
        return Ending(outcome, self.request_bytes, self.reply_bytes, *delays, self.stall_ns, detail)


class Tap(Protocol):
    """Where frames go. It never blocks and never raises for lack of room."""

    def open(self, connection: Opening, at_ns: int) -> Flow:
        """A new exchange on this connection: `connection` says all but its wall time."""

    def put(self, kind: Kind, number: int, at_ns: int, data: bytes, code: int = 0) -> None:
        """A piece or a mark of an exchange."""

    def end(self, flow: Flow, ending: Ending, at_ns: int) -> None:
        """The last word on an exchange: called once for each that was opened."""
