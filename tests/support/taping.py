"""A tape fed in short words, with a listener that keeps what it hears.

    taping = Taping().asked(request(b"hi")).mark(Mark.REQUEST_END).answered(reply(b"hello"))
    sealed, notes = taping.seal()

One rule: the first frame comes 1 ns after the exchange opened at 1,000 ns, each further one 1 ns later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from proxy.wire.exchange import Exchange, Outcome
from proxy.wire.frame import Frame, Kind, frame
from proxy.wire.tape import Tape
from tests.support.builders import ending, opening

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.wire.head import ReplyHead, RequestHead

OPENED_NS = 1_000


class Listener:
    """Keeps what it is given."""

    def __init__(self, asked: tuple[RequestHead, bytes, ReplyHead]) -> None:
        self.asked = asked
        """What it was chosen for."""
        self.pieces: list[tuple[int, bytes]] = []
        self.closed = 0

    def feed(self, data: bytes, at_ns: int) -> None:
        """A piece of content, never an empty one, never after the end."""
        assert data
        assert not self.closed
        self.pieces.append((at_ns, data))

    def close(self) -> None:
        """No more."""
        self.closed += 1

    @property
    def content(self) -> bytes:
        """All pieces."""
        return b"".join(data for _at, data in self.pieces)


class Taping:
    """One tape."""

    def __init__(self, bound: int = 10_000, **known: int) -> None:
        """`known` changes the opening."""
        self.listeners: list[Listener] = []
        self.at = OPENED_NS
        self.tape = Tape(1, opening(**known), OPENED_NS, self._listen, body_bound=bound)

    def asked(self, *pieces: bytes | int) -> Self:
        """From the caller; a number is a frame whose bytes were left out."""
        return self._take(Kind.REQUEST, pieces)

    def answered(self, *pieces: bytes | int) -> Self:
        """From the upstream."""
        return self._take(Kind.REPLY, pieces)

    def mark(self, code: int, data: bytes = b"") -> Self:
        """A moment."""
        return self._take(Kind.MARK, [data], code)

    def resumed(self) -> Self:
        """The recorder is another one from here on."""
        return self._take(Kind.RESUME, [self.tape.opening.encode()])

    def seal(
        self, outcome: Outcome = Outcome.complete, **known: Any
    ) -> tuple[Exchange[Listener], list[str]]:
        """The exchange, whose listener must have been closed once, and its notes as text."""
        sealed = self.tape.seal(ending(outcome, **known), self.at + 1)
        assert sealed.heard is (self.listeners[0] if self.listeners else None)
        assert [listener.closed for listener in self.listeners] in ([], [1])
        return sealed, [str(note) for note in sealed.notes]

    def _listen(self, *asked: Any) -> Listener:
        self.listeners.append(Listener(asked))
        return self.listeners[-1]

    def _take(self, kind: Kind, pieces: Iterable[bytes | int], code: int = 0) -> Self:
        for piece in pieces:
            self.at += 1
            if isinstance(piece, int):
                self.tape.take(Frame(kind, 1, self.at, b"", piece))
            else:
                self.tape.take(frame(kind, 1, self.at, piece, code))
        return self
