"""The only bytes that ever change: the value of `Host`, and an absolute-form target.

One rule: everything else of a head stays as it came, byte for byte: order, case, spacing, line ends. A
head without `Host` gets none; of two, both change, so the upstream still sees two.
"""

from __future__ import annotations

import re
from typing import Final

_HOST: Final = re.compile(rb"(?i)(\nhost[ \t]*:[ \t]*)([^\n]*(?:\n[ \t][^\n]*)*)")
"""A whole field: an obs-fold (RFC 9112 section 5.2) is part of its value. What stands behind the value is
cut off in code: a pattern that does it looks at a long run of spaces once for each of them."""

_ABSOLUTE: Final = re.compile(rb"([^ \r\n]+ +)[A-Za-z][A-Za-z0-9+.\-]*://[^/? \r\n]*([^ \r\n]*)")


def rewrite_head(raw: bytes, host: bytes | None) -> bytes:
    """A request head with the upstream's authority in it.

    `raw` is the whole head. `host` is the new value; None keeps `Host` as it came. An absolute-form
    target (RFC 9112 section 3.2.2, sent to proxies) becomes origin-form: inference servers do not
    route on it, and its authority is ours, not theirs.
    """
    absolute = _ABSOLUTE.match(raw)
    if absolute:
        before, rest = absolute.groups()
        raw = before + _origin_form(before, rest) + raw[absolute.end() :]
    if host is not None:
        raw = _HOST.sub(lambda found: found[1] + host + _behind_value(found[2]), raw)
    return raw


def _origin_form(before: bytes, rest: bytes) -> bytes:
    if not rest and before.startswith(b"OPTIONS "):
        return b"*"  # RFC 9112 section 3.2.4: it asks about the server, not about a resource
    return rest if rest.startswith(b"/") else b"/" + rest


def _behind_value(field: bytes) -> bytes:
    return field[len(field.rstrip(b" \t\r")) :]
