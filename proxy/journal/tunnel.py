"""Exchanges inside of a WebSocket: each message that asks for a response, and what answers it.

One rule: the tunnel itself stays one exchange with a record of its own; what is opened inside of it has
that one's number, heads and connection, and a number within. A direction of which bytes are missing or
broken is not guessed at: what runs is sealed as it stands, and no further exchange is opened.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.dialects.openai_responses import is_ours
from proxy.dialects.openai_responses_socket import lane_asked, said
from proxy.wire.exchange import CALLER_FIRST, Ending, Exchange, Note, Outcome
from proxy.wire.frame import Kind
from proxy.wire.head import value
from proxy.wire.tape import START_BYTES
from proxy.wire.websocket import WebSocketParser, agreed_deflate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proxy.dialects.base import ReplyReader
    from proxy.dialects.openai_responses_socket import Said
    from proxy.wire.frame import Frame
    from proxy.wire.head import ReplyHead, RequestHead
    from proxy.wire.tape import Handshake
    from proxy.wire.websocket import Message

    from .load import RunLoad
    from .record import Load

    Listen = Callable[[RequestHead, bytes, ReplyHead], ReplyReader]

MOST_OPEN: Final = 64
"""Exchanges of one tunnel that may run at a time; what is asked beyond that is not followed."""


class Inside(NamedTuple):
    """A sealed exchange of a tunnel, with its load."""

    exchange: Exchange[ReplyReader]
    load: Load


@dataclass(slots=True)
class _Open:
    """An exchange while it runs."""

    message: int
    lane: str
    asked: Message
    heard: ReplyReader
    body: bytes
    notes: list[Note] = field(default_factory=list)
    response: str = ""
    """Its id; empty until a message says it."""
    first_byte_ns: int | None = None
    reply_bytes: int = 0


class Tunnel:
    """One upgraded connection. Feed it the frames behind its `Mark.TUNNEL`, in order."""

    def __init__(
        self,
        handshake: Handshake,
        listen: Listen,
        load: RunLoad,
        at_ns: int,
        *,
        body_bound: int,
    ) -> None:
        """`at_ns`: when it became one. `body_bound`: bytes that all open requests together may keep."""
        deflate = agreed_deflate(handshake.reply)
        self._handshake = handshake
        self._listen = listen
        self._load = load
        self.own_load = load.ended(handshake.number, at_ns)
        """Of the tunnel itself, up to here: from now on the exchanges in it are the load."""
        self._bound = body_bound
        self._asks = WebSocketParser(
            "request", deflated=deflate.offered, takeover=deflate.client_takeover
        )
        self._says = WebSocketParser(
            "reply", deflated=deflate.offered, takeover=deflate.server_takeover
        )
        self._open: deque[_Open] = deque()
        self._messages = 0
        self._failed = ""
        """The id of the response that an `error` ended last: it may still be told as failed."""
        self._notes: dict[str, Note] = {}

    @property
    def notes(self) -> tuple[Note, ...]:
        """What could not be followed, for the tunnel's own record."""
        return (*self._asks.notes, *self._says.notes, *self._notes.values())

    def take(self, frame: Frame) -> Iterator[Inside]:
        """One more frame; yields each exchange that it ends."""
        if frame.kind is Kind.REQUEST:
            self._take_request(frame)
        elif frame.kind is Kind.REPLY and not self._says.broken:
            yield from self._take_reply(frame)

    def close(self, outcome: Outcome, detail: str, at_ns: int) -> Iterator[Inside]:
        """The tunnel is over: what still runs was cut, in a tunnel that ended well by either side."""
        if outcome is Outcome.complete:
            outcome, detail = self._who_cut(detail)
        yield from self._seal_all(outcome, detail, at_ns)

    # The two directions

    def _take_request(self, frame: Frame) -> None:
        if frame.left_out:
            self._asks.lost()
        for message in self._asks.feed(frame.data, frame.at_ns):
            lane = lane_asked(message.data)
            if lane is not None and not self._says.broken:
                self._ask(message, lane)

    def _take_reply(self, frame: Frame) -> Iterator[Inside]:
        if frame.left_out:
            self._says.lost()
        for message in self._says.feed(frame.data, frame.at_ns):
            yield from self._say(message)
        if self._says.broken:
            notes = self._says.notes or [Note("content_left_out", "reply")]
            for inner in self._open:
                inner.notes += notes
            yield from self._seal_all(Outcome.complete, "", frame.at_ns)

    def _ask(self, message: Message, lane: str) -> None:
        self._messages += 1
        if len(self._open) >= MOST_OPEN:
            self._note("message_not_followed", f"more than {MOST_OPEN} at a time")
            return
        shake = self._handshake
        body, notes = message.data, []
        if sum(len(inner.body) for inner in self._open) + len(body) > self._bound:
            body = body[:START_BYTES]
            notes.append(Note("content_left_out", "request"))
        heard = self._listen(shake.request, body[:START_BYTES], shake.reply)
        self._open.append(_Open(self._messages, lane, message, heard, body, notes))
        self._load.opened((shake.number, self._messages), message.first_ns)

    def _say(self, message: Message) -> Iterator[Inside]:
        told = said(message.data)
        if told.last and told.response and told.response == self._failed:
            return
        inner = self._answered(told)
        if inner is None:
            if told.response:
                self._note("response_unasked", "no open request of its lane")
            return
        if inner.first_byte_ns is None:
            inner.first_byte_ns = message.first_ns
        inner.response = inner.response or told.response
        inner.reply_bytes += message.wire_bytes
        inner.heard.feed(message.data, message.at_ns)
        if told.last:
            self._failed = "" if told.response else inner.response
            self._open.remove(inner)
            yield self._seal(inner, Ending(Outcome.complete), message.at_ns)

    def _answered(self, told: Said) -> _Open | None:
        """The oldest open exchange of the message's lane; of any, if it names none."""
        by_lane = (inner for inner in self._open if inner.lane == told.lane)
        found = next(by_lane, None)
        if found is None and not told.lane and self._open:
            found = self._open[0]
        return found

    # Sealing

    def _seal_all(self, outcome: Outcome, detail: str, at_ns: int) -> Iterator[Inside]:
        while self._open:
            yield self._seal(self._open.popleft(), Ending(outcome, detail=detail), at_ns)

    def _seal(self, inner: _Open, ending: Ending, at_ns: int) -> Inside:
        shake, asked = self._handshake, inner.asked
        inner.heard.close()
        began = shake.opening.at_unix_ns + asked.first_ns - shake.opened_ns
        exchange = Exchange(
            number=shake.number,
            opening=replace(shake.opening, at_unix_ns=began),
            ending=replace(ending, request_bytes=asked.wire_bytes, reply_bytes=inner.reply_bytes),
            opened_ns=asked.first_ns,
            ended_ns=at_ns,
            request=shake.request,
            request_head_ns=None,
            request_end_ns=asked.at_ns,
            request_body=inner.body,
            reply=shake.reply,
            reply_head_ns=None,
            first_byte_ns=inner.first_byte_ns,
            dial_ns=None,
            connected_ns=shake.connected_ns,
            sent_ns=None,
            backend=shake.backend,
            heard=inner.heard,
            notes=tuple(inner.notes),
            message=inner.message,
        )
        return Inside(exchange, self._load.ended((shake.number, inner.message), at_ns))

    def _who_cut(self, detail: str) -> tuple[Outcome, str]:
        """By the closing handshake, which either side may begin; without one by the first FIN."""
        asked_ns, said_ns = self._asks.closed_ns, self._says.closed_ns
        if asked_ns is not None and (said_ns is None or asked_ns <= said_ns):
            return Outcome.client_gone, "the caller sent a close frame"
        if said_ns is not None:
            return Outcome.upstream_aborted, "the upstream sent a close frame"
        by_caller = detail == CALLER_FIRST
        return (Outcome.client_gone if by_caller else Outcome.upstream_aborted), detail

    def _note(self, code: str, detail: str) -> None:
        self._notes.setdefault(code, Note(code, "tunnel", detail))


def speaks(handshake: Handshake) -> bool:
    """True for a WebSocket whose messages are read here."""
    upgrade = value(handshake.reply.headers, "upgrade") or ""
    switched = handshake.reply.status == 101 and upgrade.strip().lower() == "websocket"
    return switched and is_ours(handshake.request)
