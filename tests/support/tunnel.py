"""A WebSocket of the Responses API as the recorder hears it: frames in, records out.

    talk = Talk().asks(100, sent(ask())).answers(150, *ANSWER)
    *inside, tunnel = talk.end(200)

One rule: times are ms after the first byte of the upgrade, and `end` gives all records, the tunnel's last.
"""

from __future__ import annotations

import socket

import orjson

from proxy.dialects.table import choose
from proxy.gauge import Running
from proxy.journal.derive import Context, derive, understand
from proxy.journal.load import LoadMeter
from proxy.journal.record import Load
from proxy.sealed import SealedQueue, Source
from proxy.taping import Taping
from proxy.wire.exchange import Ending, Opening, Outcome
from proxy.wire.frame import Frame, Kind, Mark, frame
from tests.support.cuts import whole
from tests.support.websocket import said, switched, upgrade

MS = 1_000_000
OPENED_NS = 5_000 * MS


def ask(text="Hi", **more):
    """A message that asks for a response."""
    return orjson.dumps({"type": "response.create", "model": "m-1", "input": text} | more)


def event(kind, **more):
    """A message of the server."""
    return orjson.dumps({"type": kind} | more)


def created(response="resp_1", **more):
    """The first event of a response."""
    return event("response.created", response={"id": response, "usage": None}, **more)


def delta(text="a", **more):
    """An event with output."""
    return event("response.output_text.delta", item_id="msg_1", output_index=0, delta=text, **more)


def ended(response="resp_1", kind="response.completed", tokens=2, **more):
    """The last event of a response."""
    usage = {"input_tokens": 9, "output_tokens": tokens}
    return event(
        kind, response={"id": response, "status": kind.partition(".")[2], "usage": usage}, **more
    )


ANSWER = (created(), delta("a"), delta("b"), ended())


class Talk:
    """Frames to a recorder, and what it seals: the caller's bytes at one ms each, then the other's."""

    def __init__(self, *fields, path="/v1/responses", cut=whole, retain_bytes=100_000):
        self.out = SealedQueue()
        nobody = socket.socket()
        nobody.close()  # nothing is acknowledged here
        source = Source("r", nobody)
        self.taping = Taping(source, self.out, LoadMeter(), retain_bytes, Running((), lambda: 0))
        self.cut = cut
        self.at_ms = 0
        opening = Opening(1_000, 1, "127.0.0.1:8800", "", "http://127.0.0.1:8000", "127.0.0.1:5000")
        self._take(Kind.OPEN, opening.encode())
        self._take(Kind.MARK, b"127.0.0.1:8000", Mark.CONNECTED)
        self._take(Kind.REQUEST, upgrade(path))
        self._take(Kind.REPLY, switched(*fields))
        self._take(Kind.MARK, code=Mark.TUNNEL)

    def _take(self, kind, data=b"", code=0):
        self.taping.take(frame(kind, 1, OPENED_NS + self.at_ms * MS, data, code))

    def asks(self, at_ms, *frames):
        """Bytes of the caller."""
        return self._flow(Kind.REQUEST, at_ms, frames)

    def says(self, at_ms, *frames):
        """Bytes of the upstream."""
        return self._flow(Kind.REPLY, at_ms, frames)

    def _flow(self, kind, at_ms, frames):
        self.at_ms = at_ms
        for piece in self.cut(b"".join(frames)):
            if piece:
                self._take(kind, piece)
        return self

    def answers(self, at_ms, *messages):
        """A message each ms."""
        for n, message in enumerate(messages):
            self.says(at_ms + n, said(message))
        return self

    def loses(self, at_ms, kind, count=9):
        """Bytes that flowed and were not kept."""
        self.taping.take(Frame(kind, 1, OPENED_NS + at_ms * MS, b"", count))
        return self

    def end(self, at_ms, outcome=Outcome.complete, detail=""):
        """The connection is over: all records, the tunnel's last."""
        ending = Ending(outcome, detail=detail).encode()
        self.taping.take(frame(Kind.END, 1, OPENED_NS + at_ms * MS, ending))
        return self.records()

    def sealed(self):
        """What was put out and not asked for yet."""
        found = []
        while self.out.qsize():
            found.append(self.out.get())
        return [one for one in found if one is not None]

    def records(self):
        """The same as records."""
        return [record_of(one.exchange, one.load) for one in self.sealed()]


def record_of(exchange, load=None):
    """The record of a sealed exchange, without tokens counted here."""
    dialect = choose(exchange.request, exchange.request_body[:4096])
    context = Context("r", load or Load(), counter=None)
    return derive(exchange, understand(exchange, dialect), context).record


def codes(record):
    """The codes of a record's notes."""
    return [note.partition(":")[0] for note in record.notes]
