"""The frames of one exchange, read nearly as they come; grows in the recorder and is sealed once.

One rule: it keeps what a record needs, not what passed by: heads, the (bounded) request body, marks. The
reply's body goes to a listener, piece by piece, some pieces at a time: reading one costs several times what
it does in a row with others of its kind. Once bytes of a direction were left out, that
direction's content cannot be trusted any more: heads and bodies after the gap are dropped, times stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from .coding import ContentDecoder
from .exchange import Ending, Exchange, Note, Opening, Outcome, ReplyListener
from .frame import Frame, Kind, Mark
from .framing import MessageFraming, ReplyFraming, RequestFraming, Stage
from .head import Headers, ReplyHead, RequestHead, values

if TYPE_CHECKING:
    from collections.abc import Callable

L = TypeVar("L", bound=ReplyListener)
H = TypeVar("H", RequestHead, ReplyHead)

_MARKS: Final = frozenset(Mark)

START_BYTES: Final = 4096

RUN_BYTES: Final = 16 * 1024
"""Of a reply that wait to be read together: some seventy tokens, and 16 MB for a thousand streams."""

"""How much of a request body is shown to whoever chooses a reader for the reply."""


class _Side(Generic[H]):
    """One direction of an exchange: framing and codings undone."""

    def __init__(self, framing: MessageFraming[H], where: str) -> None:
        self.framing: MessageFraming[H] = framing
        self.where = where
        self.head_ns: int | None = None
        self.first_ns: int | None = None
        self.deaf = False
        """True once its bytes mean nothing any more: left out, or not to be told apart."""
        self.left_out_bytes = 0
        """Bytes that are missing, and those that came behind the first gap."""
        self.notes: list[Note] = []
        self._gap = False
        self._decoder: ContentDecoder | None = None

    def hear(self, frame: Frame) -> bytes:
        """Take a frame of this direction; return the content that it completes."""
        data = frame.data
        if self.first_ns is None:
            self.first_ns = frame.at_ns
        if self._gap or len(data) != frame.length:
            self.left_out(frame.length)
        if self.deaf:
            return b""
        if (chunk := self.framing.whole_chunk(data)) is None:
            content = self._read(data, frame.at_ns)
        else:
            content = data[chunk[0] : chunk[1]]
        return content if self._decoder is None else self._decoder.feed(content)

    def left_out(self, count: int) -> None:
        """So many bytes are missing; nothing behind them can be read."""
        self.left_out_bytes += count
        if not self._gap:
            self._gap = self.deaf = True
            self.notes.append(Note("content_left_out", self.where))

    def _read(self, data: bytes, at_ns: int) -> bytes:
        framing, position = self.framing, 0
        spans: list[tuple[int, int]] = []
        while position < len(data) and framing.stage in (Stage.HEAD, Stage.BODY):
            position = framing.feed(data, position, spans)
        if self.head_ns is None and framing.head is not None:
            self.head_ns = at_ns
            self._decoder = _decoder(framing.head.headers)
        if len(spans) == 1:
            ((start, end),) = spans
            return data[start:end]
        return b"".join([data[start:end] for start, end in spans])

    def finish(self) -> None:
        """No more will come."""
        self.framing.close()
        if self._decoder is None:
            return
        self._decoder.close()
        where = f"{self.where} body"
        self.notes += [Note(n.code, n.where or where, n.detail) for n in self._decoder.notes]


def _decoder(headers: Headers) -> ContentDecoder | None:
    joined = ",".join(values(headers, "content-encoding"))
    codings = [name.strip().lower() for name in joined.split(",") if name.strip()]
    return ContentDecoder(codings) if codings else None


class Handshake(NamedTuple):
    """What the exchanges inside of a tunnel have from the one that opened it."""

    number: int
    opening: Opening
    opened_ns: int
    request: RequestHead
    reply: ReplyHead
    connected_ns: int | None
    backend: str | None


class Tape(Generic[L]):
    """One exchange while it runs."""

    def __init__(
        self,
        number: int,
        opening: Opening,
        opened_ns: int,
        listen: Callable[[RequestHead, bytes, ReplyHead], L],
        *,
        body_bound: int = 64 * 1024 * 1024,
    ) -> None:
        """`listen(request head, first body bytes, reply head)` gives the reader of the reply's body."""
        self.number = number
        self.opening = opening
        self.opened_ns = opened_ns
        self._listen = listen
        self._bound = body_bound
        self._request: _Side[RequestHead] = _Side(RequestFraming(), "request")
        self._reply: _Side[ReplyHead] | None = None
        self._body = bytearray()
        self._heard: L | None = None
        self._marks: dict[Mark, int] = {}
        self._backend: str | None = None
        self._notes: list[Note] = []
        self._waiting: list[Frame] = []
        """Pieces of the reply that are not read yet."""
        self._waiting_bytes = 0

    def take(self, frame: Frame) -> None:
        """One more frame, in the order of its time. Kinds that are not of an exchange are passed over."""
        if frame.kind is Kind.REPLY:
            self._waiting.append(frame)  # once it is known who reads them, they may wait
            self._waiting_bytes += len(frame.data)
            if self._heard is None or self._waiting_bytes > RUN_BYTES:
                self._read_reply()
        elif frame.kind is Kind.REQUEST:
            self._take_request(frame)
        elif frame.kind is Kind.MARK and frame.code in _MARKS:
            self._take_mark(Mark(frame.code), frame)
        elif frame.kind is Kind.RESUME:
            self._resume()

    def _take_request(self, frame: Frame) -> None:
        side, body = self._request, self._body
        body += side.hear(frame)
        if len(body) > self._bound and not side.deaf:
            side.left_out(len(body))
            del body[START_BYTES:]

    def _read_reply(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        side, heard = self._reply, self._heard
        if side is None:
            head = self._request.framing.head
            side = self._reply = _Side(ReplyFraming(head.method if head else ""), "reply")
        for frame in waiting:
            content = side.hear(frame)
            if heard is None and side.head_ns is not None:
                heard = self._heard = self._listener(side.framing.head)
            if content and heard is not None:
                heard.feed(content, frame.at_ns)

    def _listener(self, reply: ReplyHead | None) -> L | None:
        request = self._request.framing.head
        if request is None or reply is None:
            return None
        return self._listen(request, bytes(self._body[:START_BYTES]), reply)

    def _take_mark(self, mark: Mark, frame: Frame) -> None:
        self._read_reply()  # a mark holds where it stands
        self._marks.setdefault(mark, frame.at_ns)
        if mark is Mark.CONNECTED and frame.data:
            self._backend = frame.data.decode("utf-8", "replace")
        elif mark is Mark.UNFRAMED_REQUEST:
            self._request.deaf = True
            self._notes.append(Note("request_unframed", "request"))
        elif mark is Mark.UNFRAMED_REPLY:
            self._notes.append(Note("reply_unframed", "reply"))
        elif mark is Mark.TUNNEL:
            self._notes.append(Note("tunnel", "reply"))

    def _resume(self) -> None:
        # What came before the restart is gone: both directions are heard from the middle on.
        self._read_reply()
        before = self.opening
        self._request.left_out(before.request_bytes)
        if before.reply_bytes:
            self._reply = _Side(ReplyFraming(""), "reply")
            self._reply.left_out(before.reply_bytes)
        self._notes.append(Note("resumed", "", "the recorder was restarted in this exchange"))

    def handshake(self) -> Handshake | None:
        """The two heads and what goes with them; None unless both were read."""
        self._read_reply()
        request = self._request.framing.head
        reply = self._reply.framing.head if self._reply else None
        if request is None or reply is None:
            return None
        connected_ns = self._marks.get(Mark.CONNECTED)
        return Handshake(
            self.number, self.opening, self.opened_ns, request, reply, connected_ns, self._backend
        )

    def seal(self, ending: Ending, ended_ns: int) -> Exchange[L]:
        """The exchange as it stands. Call once."""
        self._read_reply()
        request, marks = self._request, self._marks
        reply = self._reply or _Side(ReplyFraming(""), "reply")
        for side in (request, reply):
            if not side.deaf:
                side.finish()
        if self._heard is not None:
            self._heard.close()
        return Exchange(
            number=self.number,
            opening=self.opening,
            ending=ending,
            opened_ns=self.opened_ns,
            ended_ns=ended_ns,
            request=request.framing.head,
            request_head_ns=request.head_ns,
            request_end_ns=marks.get(Mark.REQUEST_END),
            request_body=b"" if request.deaf else bytes(self._body),
            reply=reply.framing.head,
            reply_head_ns=reply.head_ns,
            first_byte_ns=None if self.opening.reply_bytes else reply.first_ns,
            dial_ns=marks.get(Mark.DIAL),
            connected_ns=marks.get(Mark.CONNECTED),
            sent_ns=marks.get(Mark.SENT),
            backend=self._backend,
            heard=self._heard,
            notes=(*self._notes, *request.notes, *reply.notes, *self._lost_in_race(ending)),
            left_out_bytes=request.left_out_bytes + reply.left_out_bytes,
        )

    def _lost_in_race(self, ending: Ending) -> tuple[Note, ...]:
        # RFC 9112 section 9.5: a server may close an idle connection just when a request is under way.
        connected_ns = self._marks.get(Mark.CONNECTED)
        unheard = ending.outcome is Outcome.upstream_aborted and not ending.reply_bytes
        if unheard and connected_ns is not None and connected_ns < self.opened_ns:
            return (Note("reused_connection", "", "it was closed while this request came"),)
        return ()


def cut_short(tape: Tape[L], outcome: Outcome, ended_ns: int) -> Exchange[L]:
    """Seal a tape whose relay can say nothing more."""
    return tape.seal(Ending(outcome), ended_ns)
