"""The only bytes that ever change: the value of `Host`, and an absolute-form target.

One rule: everything else of a head stays as it came, byte for byte: order, case, spacing, line ends. A
head without `Host` gets none; of two, both change, so the upstream still sees two.
"""

from __future__ import annotations

import re
from typing import Final

_HOST: Final = re.compile(rb"(?im)^(host[ \t]*:[ \t]*)([^\r\n]*?)(?=[ \t]*\r?$)")
_ABSOLUTE: Final = re.compile(rb"([^ \r\n]+ +)[A-Za-z][A-Za-z0-9+.\-]*://[^/? \r\n]*([^ \r\n]*)")


def rewrite_head(raw: bytes, host: bytes | None) -> bytes:
    """A request head with the upstream's authority in it.

    `raw` is the whole head. `host` is the new value; None keeps `Host` as it came. An absolute-form
    target (RFC 9112 section 3.2.2, sent to proxies) becomes origin-form: inference servers do not
    route on it, and its authority is ours, not theirs.
    """
    line, newline, fields = raw.partition(b"\n")
    absolute = _ABSOLUTE.match(line)
    if absolute:
        before, rest = absolute.groups()
        line = before + _origin_form(rest) + line[absolute.end() :]
    if host is not None:
        fields = _HOST.sub(lambda found: found[1] + host, fields)
    return line + newline + fields


def _origin_form(rest: bytes) -> bytes:
    return rest if rest.startswith(b"/") else b"/" + rest
