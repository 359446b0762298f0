"""The frames of one exchange, read as they come; grows in the recorder and is sealed once.

One rule: it keeps what a record needs, not what passed by: heads, the (bounded) request body, marks. The
reply's body goes straight to a listener, piece by piece. Once bytes of a direction were left out, that
direction's content cannot be trusted any more: heads and bodies after the gap are dropped, times stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from .coding import ContentDecoder
from .exchange import Ending, Exchange, Note, Opening, Outcome, ReplyListener
from .frame import Frame, Kind, Mark
from .framing import MessageFraming, ReplyFraming, RequestFraming, Stage
from .head import ReplyHead, RequestHead, values

if TYPE_CHECKING:
    from collections.abc import Callable

L = TypeVar("L", bound=ReplyListener)
H = TypeVar("H", RequestHead, ReplyHead)

START_BYTES: Final = 4096
"""How much of a request body is shown to whoever chooses a reader for the reply."""


class _Side(Generic[H]):
    """One direction of an exchange: framing and codings undone."""

    def __init__(self, framing: MessageFraming[H], where: str) -> None:
        self.framing: MessageFraming[H] = framing
        self.where = where
        self.head_ns: int | None = None
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.deaf = False
        """True once its bytes mean nothing any more: left out, or not to be told apart."""
        self.notes: list[Note] = []
        self._decoder: ContentDecoder | None = None

    def feed(self, data: bytes, at_ns: int) -> bytes:
        """Take bytes of the wire; return the content that they complete."""
        position, content = 0, b""
        while position < len(data) and self.framing.stage in (Stage.HEAD, Stage.BODY):
            spans: list[tuple[int, int]] = []
            position = self.framing.feed(data, position, spans)
            if self.head_ns is None and self.framing.stage is not Stage.HEAD:
                self._head_read(at_ns)
            for start, end in spans:
                content += self._decode(data[start:end])
        return content

    def _head_read(self, at_ns: int) -> None:
        self.head_ns = at_ns
        head = self.framing.head
        codings = ",".join(values(head.headers, "content-encoding")) if head else ""
        names = [c.strip().lower() for c in codings.split(",") if c.strip()]
        if names and names != ["identity"]:
            self._decoder = ContentDecoder(names)

    def _decode(self, data: bytes) -> bytes:
        return data if self._decoder is None else self._decoder.feed(data)

    def finish(self) -> None:
        """No more will come."""
        self.framing.close()
        if self._decoder is None:
            return
        self._decoder.close()
        where = f"{self.where} body"
        self.notes += [Note(n.code, n.where or where, n.detail) for n in self._decoder.notes]

    def left_out(self) -> None:
        """Bytes are missing from here on."""
        if not self.deaf:
            self.deaf = True
            self.notes.append(Note("content_left_out", self.where))


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

    def take(self, frame: Frame) -> None:
        """One more frame, in the order of its time. Kinds that are not of an exchange are passed over."""
        if frame.kind is Kind.REPLY:
            self._take_reply(frame)
        elif frame.kind is Kind.REQUEST:
            self._take_request(frame)
        elif frame.kind is Kind.MARK:
            self._take_mark(Mark(frame.code), frame)
        elif frame.kind is Kind.RESUME:
            self._resume()

    def _take_request(self, frame: Frame) -> None:
        side = self._request
        side.last_ns = frame.at_ns
        if side.first_ns is None:
            side.first_ns = frame.at_ns
        if frame.left_out:
            side.left_out()
        if side.deaf:
            return
        self._body += side.feed(frame.data, frame.at_ns)
        if len(self._body) > self._bound:
            side.left_out()
            self._body.clear()

    def _take_reply(self, frame: Frame) -> None:
        side = self._reply
        if side is None:
            head = self._request.framing.head
            side = self._reply = _Side(ReplyFraming(head.method if head else ""), "reply")
        side.last_ns = frame.at_ns
        if side.first_ns is None:
            side.first_ns = frame.at_ns
        if frame.left_out:
            side.left_out()
        if side.deaf:
            return
        content = side.feed(frame.data, frame.at_ns)
        if self._heard is None and side.head_ns is not None:
            self._heard = self._listener(side.framing.head)
        if content and self._heard is not None:
            self._heard.feed(content, frame.at_ns)

    def _listener(self, reply: ReplyHead | None) -> L | None:
        request = self._request.framing.head
        if request is None or reply is None:
            return None
        return self._listen(request, bytes(self._body[:START_BYTES]), reply)

    def _take_mark(self, mark: Mark, frame: Frame) -> None:
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
        if self.opening.request_bytes:
            self._request.left_out()
        self._reply = self._reply or _Side(ReplyFraming(""), "reply")
        if self.opening.reply_bytes:
            self._reply.left_out()
        self._notes.append(Note("resumed", "", "the recorder was restarted in this exchange"))

    def seal(self, ending: Ending, ended_ns: int) -> Exchange[L]:
        """The exchange as it stands. Call once."""
        request, reply, marks = self._request, self._reply, self._marks
        for side in (request, reply):
            if side is not None and not side.deaf:
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
            reply=reply.framing.head if reply is not None else None,
            reply_head_ns=reply.head_ns if reply is not None else None,
            first_byte_ns=reply.first_ns if reply is not None else None,
            dial_ns=marks.get(Mark.DIAL),
            connected_ns=marks.get(Mark.CONNECTED),
            sent_ns=marks.get(Mark.SENT),
            backend=self._backend,
            heard=self._heard,
            notes=self._all_notes(),
        )

    def _all_notes(self) -> tuple[Note, ...]:
        reply = self._reply.notes if self._reply is not None else []
        return tuple(self._notes + self._request.notes + reply)


def cut_short(tape: Tape[L], outcome: Outcome, ended_ns: int) -> Exchange[L]:
    """Seal a tape whose relay can say nothing more."""
    return tape.seal(Ending(outcome), ended_ns)
