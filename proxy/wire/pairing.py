"""Which bytes belong to which exchange: requests in order, replies in the same order.

One rule: it only listens. It says what it heard to a `Tap`; no byte waits for it and none is changed
here. One `Pairing` serves one caller connection and the upstream connection that goes with it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from .exchange import CALLER_FIRST, Outcome
from .frame import Kind, Mark
from .framing import ReplyFraming, Stage
from .request_side import Cut, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .exchange import Opening
    from .flow import Flow, Tap

_UNDER_WAY: Final = (Stage.HEAD, Stage.BODY)


class Pairing:
    """The exchanges of one connection, in order."""

    def __init__(self, tap: Tap, connection: Opening) -> None:
        self._tap = tap
        self._connection = connection
        self._asking: Flow | None = None
        """The exchange whose request is coming in."""
        self._waiting: deque[Flow] = deque()
        """Exchanges whose reply is not whole, oldest first."""
        self._reply: ReplyFraming | None = None
        self._connected: tuple[int, bytes] | None = None
        self._request_raw = False
        self._reply_raw = False
        self._first_left = ""
        self._stalled_ns: int | None = None
        """Since when the caller has left bytes unread; None while it keeps up."""
        self.tunnel = False
        """True once the upstream has turned the connection into a tunnel."""

    @property
    def current(self) -> Flow | None:
        """The exchange that the next reply byte belongs to."""
        return self._waiting[0] if self._waiting else None

    def open_flows(self) -> Iterator[Flow]:
        """Every exchange that has begun and not ended."""
        yield from self._waiting
        if self._asking is not None and self._asking.replied:
            yield self._asking

    @property
    def idle(self) -> bool:
        """True when no exchange is open."""
        return not self._waiting and self._asking is None

    # The upstream connection

    def dialled(self, at_ns: int) -> None:
        """The upstream connection was begun."""
        if self._waiting:
            self._tap.put(Kind.MARK, self._waiting[0].number, at_ns, b"", Mark.DIAL)

    def connected(self, at_ns: int, address: str) -> None:
        """The upstream connection is ready, at this `host:port`."""
        self._connected = (at_ns, address.encode())
        for flow in self._waiting:
            self._tap.put(Kind.MARK, flow.number, *self._connected, Mark.CONNECTED)

    def sent(self, at_ns: int) -> None:
        """All that came from the caller so far is with the kernel."""
        for flow in self._waiting:
            if flow.requested and not flow.sent:
                flow.sent = True
                self._tap.put(Kind.MARK, flow.number, at_ns, b"", Mark.SENT)

    # The caller's bytes

    def request(self, data: bytes, cuts: list[Cut], at_ns: int) -> None:
        """A piece from the caller, with the places where something begins or ends."""
        position = 0
        for cut in cuts:
            if (
                cut.head is None
            ):  # the end of a head divides nothing: its body is the same exchange's
                self._request_bytes(data, position, cut.offset, at_ns)
                position = cut.offset
            self._step(cut, at_ns)
        self._request_bytes(data, position, len(data), at_ns)

    def _step(self, cut: Cut, at_ns: int) -> None:
        if cut.step is Step.BEGUN:
            self._begin(at_ns)
        flow = self._asking
        if flow is None:
            return
        if cut.head is not None:
            flow.method = cut.head.method
        elif cut.step is Step.ENDED:
            self._asking = None
            flow.requested = True
            self._tap.put(Kind.MARK, flow.number, at_ns, b"", Mark.REQUEST_END)
            self._end_if_whole(flow, at_ns)
        elif cut.step is Step.UNFRAMED:
            self.unframed(at_ns)

    def _begin(self, at_ns: int) -> Flow:
        self._count_stall(at_ns)
        flow = self._tap.open(self._connection, at_ns)
        self._asking = flow
        self._waiting.append(flow)
        if self._connected is not None:
            self._tap.put(Kind.MARK, flow.number, *self._connected, Mark.CONNECTED)
        return flow

    def _request_bytes(self, data: bytes, start: int, end: int, at_ns: int) -> None:
        if start == end:
            return
        flow = self._asking
        if flow is None and self.tunnel and self._waiting:
            flow = self._waiting[0]
        elif flow is None and self._request_raw and not self.tunnel:
            flow = self._begin(at_ns)
            self.unframed(at_ns)
        if flow is None:
            return
        flow.request_bytes += end - start
        piece = data if end - start == len(data) else data[start:end]
        self._tap.put(Kind.REQUEST, flow.number, at_ns, piece)

    def unframed(self, at_ns: int) -> None:
        """From here on the caller's bytes are not told apart: what is asked ends with its reply."""
        self._request_raw = True
        if self._asking is not None:
            self._tap.put(Kind.MARK, self._asking.number, at_ns, b"", Mark.UNFRAMED_REQUEST)
            self._end_if_whole(self._asking, at_ns)

    def caller_finished(self) -> None:
        """The caller sent its FIN. It may still be reading."""
        self._first_left = self._first_left or "caller"

    # The upstream's bytes

    def reply(self, data: bytes, at_ns: int, own_ns: int | None) -> None:
        """A piece from the upstream, and this proxy's own delay of it (None: the caller's fault)."""
        framing = self._reply
        if framing is not None and framing.whole_chunk(data) is not None:
            # In the middle of a stream, where nothing begins or ends: nearly all pieces.
            flow = self._waiting[0]
            flow.delayed(own_ns)
            flow.reply_bytes += len(data)
            self._tap.put(Kind.REPLY, flow.number, at_ns, data)
            return
        position, end = 0, len(data)
        while position < end and self._waiting:
            self._waiting[0].delayed(own_ns)
            position = self._reply_piece(data, position, at_ns)

    def stalled(self, at_ns: int) -> None:
        """The caller leaves bytes unread from now on."""
        self._stalled_ns = at_ns

    def flowing(self, at_ns: int) -> None:
        """The caller has read all that there was."""
        self._count_stall(at_ns)
        self._stalled_ns = None

    def _count_stall(self, at_ns: int) -> None:
        """A stall counts for the exchange whose reply is due, from when it is due."""
        # The write of a piece may begin the stall: its stamp is then behind the piece's own.
        if self._stalled_ns is None or at_ns <= self._stalled_ns:
            return
        if self._waiting:
            self._waiting[0].stall_ns += at_ns - self._stalled_ns
        self._stalled_ns = at_ns

    def _reply_piece(self, data: bytes, start: int, at_ns: int) -> int:
        flow = self._waiting[0]
        framing = self._reply
        if framing is None:
            framing = self._reply = ReplyFraming(flow.method)
        stage, position = framing.stage, start
        while position < len(data) and framing.stage in _UNDER_WAY:
            position = framing.feed(data, position)
        if framing.stage is Stage.UNFRAMED:
            position = len(data)
        elif position == start:  # a tunnel: nothing is framed there
            position = framing.feed(data, start)
        flow.reply_bytes += position - start
        piece = data if position - start == len(data) else data[start:position]
        self._tap.put(Kind.REPLY, flow.number, at_ns, piece)
        if framing.stage is not stage:
            self._reply_stage(flow, framing.stage, at_ns)
        return position

    def _reply_stage(self, flow: Flow, stage: Stage, at_ns: int) -> None:
        if stage is Stage.DONE:
            self._reply_whole(flow, at_ns)
        elif stage is Stage.TUNNEL:
            self.tunnel = True
            self._asking = None
            self._tap.put(Kind.MARK, flow.number, at_ns, b"", Mark.TUNNEL)
        elif stage is Stage.UNFRAMED:
            self._reply_raw = True
            self._tap.put(Kind.MARK, flow.number, at_ns, b"", Mark.UNFRAMED_REPLY)

    def _reply_whole(self, flow: Flow, at_ns: int) -> None:
        self._reply = None
        self._count_stall(at_ns)
        self._waiting.popleft()
        flow.replied = True
        self._tap.put(Kind.MARK, flow.number, at_ns, b"", Mark.REPLY_END)
        self._end_if_whole(flow, at_ns)

    def _end_if_whole(self, flow: Flow, at_ns: int) -> None:
        if flow is self._asking and flow.replied and self._request_raw:
            self._asking = None
            flow.requested = True
        if flow.requested and flow.replied:
            self._tap.end(flow, flow.ending(Outcome.complete, ""), at_ns)

    # The end of the connection

    def upstream_finished(self, at_ns: int) -> None:
        """The upstream sent its FIN: a reply that ends with the connection is whole, others are cut."""
        self._first_left = self._first_left or "upstream"
        if self._reply is not None and self._reply.close() and self._waiting:
            self._reply_whole(self._waiting[0], at_ns)
        if not (self.tunnel or self._reply_raw):
            self.close(Outcome.complete, "", at_ns)

    def close(self, outcome: Outcome, detail: str, at_ns: int) -> None:
        """The connection is over: whatever is still open ends with `outcome`.

        `complete` says that nothing broke. A reply whose end is known and did not come was cut all the
        same: by the caller if it had left, else by the upstream.
        """
        caller_first = self._first_left == "caller"
        if outcome is Outcome.complete and self.tunnel:
            detail = CALLER_FIRST if caller_first else ""
        elif outcome is Outcome.complete and not self._reply_raw:
            outcome = Outcome.client_gone if caller_first else Outcome.upstream_aborted
            detail = "the connection was closed before the end of the reply"
        self._count_stall(at_ns)
        for flow in list(self.open_flows()):
            last = (Outcome.complete, "") if flow.replied else (outcome, detail)
            self._tap.end(flow, flow.ending(*last), at_ns)
        self._waiting.clear()
        self._asking = None
        self._reply = None
