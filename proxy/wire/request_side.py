"""The caller's half of a connection: cut into messages, with the upstream's authority put in.

One rule: only a head that may still become `token SP target` is held; all else goes on at once and
unchanged. Once a message cannot be told from the next, nothing is held or rewritten any more.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from .framing import RequestFraming, Stage
from .head import values
from .rewrite import rewrite_head

if TYPE_CHECKING:
    from .head import RequestHead


class Step(Enum):
    """What happened at a place in the caller's bytes."""

    BEGUN = auto()
    """The first byte of a message."""
    HEAD = auto()
    """Behind a whole head."""
    ENDED = auto()
    """Behind the last byte of a message."""
    UNFRAMED = auto()
    """From here on nothing is told apart."""


class Cut(NamedTuple):
    """A step and where it lies in the piece just fed."""

    step: Step
    offset: int
    head: RequestHead | None = None
    """Only for `Step.HEAD`."""


class RequestSide:
    """All requests of one connection, one after another."""

    def __init__(self, host: bytes | None) -> None:
        """`host`: the upstream's authority; None leaves `Host` as it comes."""
        self._host = host
        self._framing = RequestFraming()
        self._begun = False
        self.raw = False
        """True once nothing is told apart any more: unframed, or a tunnel."""
        self.may_switch = False
        """True once a request asked for another protocol: then its reply decides what comes next here."""

    @property
    def holding(self) -> bool:
        """True while part of a head waits for its rest."""
        return not self.raw and self._begun and self._framing.stage is Stage.HEAD

    @property
    def between(self) -> bool:
        """True when no message has begun that has not ended."""
        return not self.raw and not self._begun

    @property
    def tls_hello(self) -> bool:
        """True when what came first is a TLS handshake (RFC 8446 section 5.1): no HTTP begins so."""
        return self.raw and self._framing.raw_head.startswith(b"\x16")

    def feed(self, data: bytes) -> tuple[list[bytes], list[Cut]]:
        """Return the pieces to pass on now, in order, and the cuts for the tap."""
        if self.raw:
            return [data], []
        pieces: list[bytes] = []
        cuts: list[Cut] = []
        position = 0
        while position < len(data) and not self.raw:
            position = self._advance(data, position, pieces, cuts)
        if position < len(data):
            pieces.append(data[position:])
        return pieces, cuts

    def release(self) -> list[bytes]:
        """Give up on the head that is being held, and on framing: return what was held."""
        held = bytes(self._framing.raw_head) if self.holding else b""
        self.raw = True
        return [held] if held else []

    def _advance(self, data: bytes, start: int, pieces: list[bytes], cuts: list[Cut]) -> int:
        if not self._begun:
            begin = _behind_empty_lines(data, start)
            if begin > start:
                pieces.append(data[start:begin])
                return begin
            self._begun = True
            cuts.append(Cut(Step.BEGUN, start))
        framing = self._framing
        in_head = framing.stage is Stage.HEAD
        position = framing.feed(data, start)
        if in_head:
            self._pass_head(position, pieces, cuts)
        else:
            pieces.append(data if position - start == len(data) else data[start:position])
        self._settle(position, cuts)
        return position

    def _pass_head(self, position: int, pieces: list[bytes], cuts: list[Cut]) -> None:
        framing = self._framing
        if framing.stage is Stage.HEAD:
            return
        raw = bytes(framing.raw_head)
        if framing.head is None:
            pieces.append(raw)
            return
        version_is_ours = framing.head.version[0] == 1
        pieces.append(rewrite_head(raw, self._host) if version_is_ours else raw)
        cuts.append(Cut(Step.HEAD, position, framing.head))
        self.may_switch |= framing.head.method == "CONNECT" or bool(
            values(framing.head.headers, "upgrade")
        )

    def _settle(self, position: int, cuts: list[Cut]) -> None:
        if self._framing.stage is Stage.DONE:
            cuts.append(Cut(Step.ENDED, position))
            self._framing = RequestFraming()
            self._begun = False
        elif self._framing.stage is Stage.UNFRAMED:
            cuts.append(Cut(Step.UNFRAMED, position))
            self.raw = True


def _behind_empty_lines(data: bytes, start: int) -> int:
    # RFC 9112 section 2.2: a server ignores empty lines before a request line. They belong to nobody.
    position = start
    while position < len(data) and data[position] in b"\r\n":
        position += 1
    return position
