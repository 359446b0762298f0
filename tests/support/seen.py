"""What the two ends of a case saw, in the words of `tests/cases/README.md`.

One rule: it reads the bytes that came with means of its own, not with the product's framing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.cases import Answered, Asked, holds

if TYPE_CHECKING:
    from tests.support.caller import Caller
    from tests.support.upstream import Connection

Fields = list[tuple[str, str]]


@dataclass
class Message:
    """A message as it came: start line, fields, body without its transfer coding."""

    start: str = ""
    fields: Fields = field(default_factory=list)
    body: bytes = b""
    whole: bool = False
    """Whether its framing says that all of it came."""

    @classmethod
    def read(cls, raw: bytes, *, ended: str | None) -> Message:
        """Read what came; `ended` is how the sender ended, None if it did not."""
        head, _, rest = raw.partition(b"\r\n\r\n")
        start, *lines = head.decode("latin-1").split("\r\n")
        pairs = [line.partition(":") for line in lines]
        fields = [(name.strip(), value.strip()) for name, _, value in pairs]
        known = {name.lower(): value for name, value in fields}
        status = start.split(" ")[1] if start.startswith("HTTP/") else ""
        if status in {"101", "204", "304"}:
            return cls(start, fields, rest, whole=True)
        if "chunked" in known.get("transfer-encoding", ""):
            return cls(start, fields, *_dechunked(rest))
        if "content-length" in known:
            return cls(start, fields, rest, whole=len(rest) == int(known["content-length"]))
        return cls(start, fields, rest, whole=ended == "fin" or not status)

    def all_of(self, name: str) -> list[str]:
        """Values of a field, in order."""
        return [value for key, value in self.fields if key.lower() == name.lower()]


def _dechunked(raw: bytes) -> tuple[bytes, bool]:
    body = b""
    while raw:
        size_line, separator, rest = raw.partition(b"\r\n")
        if not separator:
            return body, False
        size = int(size_line.partition(b";")[0], 16)
        if not size:
            return body, rest.endswith(b"\r\n")
        body += rest[:size]
        raw = rest[size + 2 :]
    return body, False


@dataclass
class Seen:
    """One exchange, as both ends saw it."""

    asked: Asked
    answered: Answered
    client: Message
    client_ended: str | None
    asked_ns: int
    done_ns: int
    there: Connection | None
    upstream: Message
    caller: Caller

    def check(self, expect: dict[str, Any]) -> list[str]:
        """What does not hold, in words."""
        checks = {
            "client_status": lambda want: holds(self.status, want),
            "client_body": self._client_body,
            "client_end": lambda want: want == ("complete" if self.client.whole else "aborted"),
            "client_headers_include": lambda want: _include(self.client, want),
            "client_headers_absent": lambda want: not any(map(self.client.all_of, want)),
            "client_header_lists": lambda want: _lists(self.client, want),
            "client_framing": lambda _: _one_framing(self.client),
            "upstream_framing": lambda _: _one_framing(self.upstream),
            "client_max_ms": lambda want: (self.done_ns - self.asked_ns) / 1e6 <= want,
            "relay_lag_ms_max": lambda want: self.lag_ms <= want,
            "upstream_method": lambda want: self.upstream.start.split(" ")[0] == want,
            "upstream_target": lambda want: self.upstream.start.split(" ")[1] == want,
            "upstream_body": lambda _: self.upstream.body == self.asked.body,
            "upstream_headers_include": lambda want: _include(self.upstream, want),
            "upstream_headers_absent": lambda want: not any(map(self.upstream.all_of, want)),
            "upstream_header_lists": lambda want: _lists(self.upstream, want),
            "upstream_closed_within_ms": self._upstream_closed,
        }
        failed = [key for key, want in expect.items() if key in checks and not checks[key](want)]
        return [f"{key}: wanted {expect[key]!r}" for key in failed]

    @property
    def status(self) -> int | None:
        """The final status; None when no head came."""
        words = self.client.start.split(" ")
        return int(words[1]) if words[0].startswith("HTTP/") else None

    @property
    def lag_ms(self) -> float:
        """The longest time from the upstream's sending of a piece to the caller's having all of it."""
        if self.there is None:
            return 0.0
        total, worst = 0, 0
        for sent in self.there.sent:
            total += sent.size
            worst = max(worst, self._had_ns(total) - sent.at_ns)
        return worst / 1e6

    def _had_ns(self, size: int) -> int:
        come = 0
        for piece in self.caller.pieces:
            come += len(piece.data)
            if come >= size:
                return piece.at_ns
        return 0

    def _client_body(self, want: str) -> bool:
        if want == "identical":
            return self.client.body == self.answered.body
        return bool(self.client.body) and self.answered.body.startswith(self.client.body)

    def _upstream_closed(self, want: float) -> bool:
        ended = self.there.ended_ns if self.there else None
        return ended is not None and (ended - self.done_ns) / 1e6 <= want


def _include(message: Message, want: list[list[str]]) -> bool:
    return all(value in message.all_of(name) for name, value in want)


def _lists(message: Message, want: dict[str, list[str]]) -> bool:
    return all(message.all_of(name) == values for name, values in want.items())


def _one_framing(message: Message) -> bool:
    return 1 == len(message.all_of("transfer-encoding")) + len(message.all_of("content-length"))
