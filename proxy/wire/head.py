"""Message heads: what a request line, a status line and header fields say (RFC 9112 sections 2 to 5).

One rule: tolerant and never raising. A head is read as a lenient server would read it (LF-only lines,
obs-fold, any method, any bytes in values); what cannot be read makes the parse return None, and the
bytes still flow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

Headers = tuple[tuple[str, str], ...]

_BLANKS: Final = " \t\n\r\v\f"
"""What is no part of a name or value: of ASCII alone, as obs-text may be anything."""
_FOLD: Final = re.compile(rb"\r?\n[ \t]+")
_REQUEST_LINE: Final = re.compile(rb"([!-~]+) +(\S+)(?: +HTTP/(\d)\.(\d))? *")
_STATUS_LINE: Final = re.compile(rb"HTTP/(\d)\.(\d) +(\d{3})(?: (.*))?", re.DOTALL)


def values(headers: Headers, name: str) -> list[str]:
    """All values of a field, in order. `name` in lower case."""
    size = len(name)
    return [value for key, value in headers if len(key) == size and key.lower() == name]


def value(headers: Headers, name: str) -> str | None:
    """The first value of a field; None if it is not there."""
    return next(iter(values(headers, name)), None)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request's line and fields, as sent."""

    method: str
    target: str
    """As sent: never decoded, never normalised."""
    version: tuple[int, int]
    """(1, 1), (1, 0) and so on; (0, 9) when the line names none."""
    headers: Headers

    @property
    def path(self) -> str:
        """The target's path: without query, and without scheme and authority if it has them."""
        path = self.target.partition("?")[0]
        _scheme, separator, rest = path.partition("://")
        if path.startswith("/") or not separator:
            return path
        return "/" + rest.partition("/")[2]


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """A response's status and fields, as sent."""

    status: int
    version: tuple[int, int]
    headers: Headers

    @property
    def interim(self) -> bool:
        """True for 1xx other than 101: never the response itself (RFC 9110 section 15.2)."""
        return 100 <= self.status < 200 and self.status != 101


def parse_request_head(raw: bytes) -> RequestHead | None:
    """Read a whole request head, its last empty line included or not."""
    line, fields = _split(raw)
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        return None
    method, target, major, minor = found.groups()
    version = (int(major), int(minor)) if major else (0, 9)
    return RequestHead(_text(method), _text(target), version, fields)


def parse_reply_head(raw: bytes) -> ReplyHead | None:
    """Read a whole response head, its last empty line included or not."""
    line, fields = _split(raw)
    found = _STATUS_LINE.fullmatch(line)
    if found is None:
        return None
    major, minor, status, _reason = found.groups()
    return ReplyHead(int(status), (int(major), int(minor)), fields)


def _split(raw: bytes) -> tuple[bytes, Headers]:
    """The first line and the fields."""
    raw = raw.lstrip(b"\r\n")
    if b"\n " in raw or b"\n\t" in raw:
        raw = _FOLD.sub(b" ", raw)
    first, _, rest = raw.partition(b"\n")
    pairs = [line.partition(":") for line in _text(rest).split("\n")]
    fields = [(name.strip(_BLANKS), value.strip(_BLANKS)) for name, colon, value in pairs if colon]
    return first.removesuffix(b"\r"), tuple(fields)


def _text(data: bytes) -> str:
    """Latin-1: what RFC 9110 section 5.5 calls obs-text survives, and nothing raises."""
    return data.decode("latin-1")
