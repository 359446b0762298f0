"""A connection as a script: what each end does, and what the tap hears because of it.

    play = Playbook()
    assert play.caller(GET) == [(1, "open"), (1, ">", GET), (1, "REQUEST_END")]
    assert play.upstream(OK) == [(1, "<", OK), (1, "REPLY_END"), (1, "complete")]

One rule: what may never happen fails by itself, in every test: a frame of an exchange that is not open,
an exchange that ends twice, an ending whose counts are not those of the frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.wire.exchange import Outcome
from proxy.wire.flow import Flow
from proxy.wire.frame import Frame, Kind, Mark, frame
from proxy.wire.pairing import Pairing
from proxy.wire.request_side import RequestSide
from tests.support.builders import opening

if TYPE_CHECKING:
    from proxy.wire.exchange import Ending, Opening

    Heard = tuple[int, str] | tuple[int, str, bytes]

STEP_NS = 10
_ARROWS = {Kind.REQUEST: ">", Kind.REPLY: "<"}


class Playbook:
    """A `Pairing` with a `RequestSide` before it, and the tap behind it. Each event is 10 ns later."""

    def __init__(self) -> None:
        self.pairing = Pairing(self, opening())
        self.side = RequestSide(None)
        self.now = 0
        self.frames: list[Frame] = []
        """All that the tap was told but openings and endings, in order."""
        self.endings: dict[int, Ending] = {}
        self.opened: list[int] = []
        """When each exchange began, in order of its number."""
        self._heard: list[Heard] = []

    # The two ends: each returns what the tap heard of it

    def caller(self, data: bytes) -> list[Heard]:
        """The caller sends."""
        _pieces, cuts = self.side.feed(data)
        self.pairing.request(data, cuts, self._tick())
        return self._said()

    def upstream(self, data: bytes, own_ns: int | None = 5) -> list[Heard]:
        """The upstream sends."""
        self.pairing.reply(data, self._tick(), own_ns)
        if self.pairing.tunnel:
            self.side.release()
        return self._said()

    def upstream_fin(self) -> list[Heard]:
        """The upstream sends its FIN."""
        self.pairing.upstream_finished(self._tick())
        return self._said()

    def caller_fin(self) -> list[Heard]:
        """The caller sends its FIN."""
        self.pairing.caller_finished()
        return self._said()

    def released(self) -> list[Heard]:
        """A head was held for too long."""
        self.side.release()
        self.pairing.unframed(self._tick())
        return self._said()

    def dialled(self) -> list[Heard]:
        """The upstream is being connected to."""
        self.pairing.dialled(self._tick())
        return self._said()

    def connected(self) -> list[Heard]:
        """It is connected."""
        self.pairing.connected(self._tick(), "127.0.0.1:8000")
        return self._said()

    def sent(self) -> list[Heard]:
        """All that came is with the kernel."""
        self.pairing.sent(self._tick())
        return self._said()

    def stalled(self) -> None:
        """The caller reads no more."""
        self.pairing.stalled(self._tick())

    def flowing(self) -> None:
        """The caller reads again, and has read all."""
        self.pairing.flowing(self._tick())

    def close(self, outcome: Outcome = Outcome.complete, detail: str = "") -> list[Heard]:
        """The connection is over."""
        self.pairing.close(outcome, detail, self._tick())
        return self._said()

    # The tap

    def open(self, connection: Opening, at_ns: int) -> Flow:
        """Number it."""
        assert connection == opening()
        self.opened.append(at_ns)
        number = len(self.opened)
        self._heard.append((number, "open"))
        return Flow(number)

    def put(self, kind: Kind, number: int, at_ns: int, data: bytes, code: int = 0) -> None:
        """Keep a frame of an open exchange."""
        assert 1 <= number <= len(self.opened)
        assert number not in self.endings, "nothing follows an end"
        self.frames.append(frame(kind, number, at_ns, data, code))
        what = _ARROWS.get(kind) or Mark(code).name
        self._heard.append((number, what, data) if data else (number, what))

    def end(self, flow: Flow, ending: Ending, at_ns: int) -> None:
        """Keep the last word."""
        number = flow.number
        assert number not in self.endings, "an exchange ends once"
        assert ending.request_bytes == len(self.bytes_of(Kind.REQUEST, number))
        assert ending.reply_bytes == len(self.bytes_of(Kind.REPLY, number))
        assert ending.stall_ns <= at_ns - self.opened[number - 1]
        assert type(ending).decode(ending.encode()) == ending
        self.endings[number] = ending
        self._heard.append((number, ending.outcome.name))

    # What came of it

    def bytes_of(self, kind: Kind, number: int) -> bytes:
        """All bytes of one direction of an exchange."""
        return b"".join(f.data for f in self.frames if (f.kind, f.exchange) == (kind, number))

    def times_of(self, mark: Mark) -> dict[int, int]:
        """When a mark was made, for each exchange that has it."""
        marks = [f for f in self.frames if f.kind is Kind.MARK and f.code == mark]
        return {f.exchange: f.at_ns for f in marks}

    @property
    def running(self) -> list[int]:
        """Exchanges that have not ended."""
        return [n for n in range(1, len(self.opened) + 1) if n not in self.endings]

    def _tick(self) -> int:
        self.now += STEP_NS
        return self.now

    def _said(self) -> list[Heard]:
        heard, self._heard = self._heard, []
        return heard
