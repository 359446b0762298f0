"""JSON as clients and servers really send it, read without ever raising.

One rule: orjson first, for nearly all there is; what it refuses and others accept (lone surrogates,
NaN, control characters in strings, a byte order mark, bytes that are not UTF-8, junk behind the value)
gets a second reading. No text that leaves here holds a lone surrogate: nothing could encode it later.
"""

from __future__ import annotations

import json  # noqa: TID251 -- orjson and msgspec both refuse what real clients send; see above
import re
from typing import Any, Final

import orjson

_SURROGATES: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair: one character
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"  # half of one
    r"|\\.",  # any other escape, so that `\\ud800` is not taken for one
    re.DOTALL,
)
_HALF_LENGTH: Final = len(r"\ud800")
_LENIENT: Final = json.JSONDecoder(strict=False, parse_constant=lambda _name: None)


def read_json(data: bytes) -> Any | None:
    """The value in `data`; None when there is none to be read, and for `null`.

    NaN and the infinities read as None. Nesting deeper than either library allows is not read.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    text = data.decode("utf-8-sig", "replace").lstrip(" \t\r\n")
    try:
        return _LENIENT.raw_decode(_SURROGATES.sub(_mend, text))[0]
    except (ValueError, RecursionError):
        return None


def _mend(found: re.Match[str]) -> str:
    return r"\ufffd" if len(found[0]) == _HALF_LENGTH else found[0]


def compact(value: Any) -> str:
    """JSON without spaces, keys in their order: how a template's reader sees a value, near enough.

    Empty for what is nested too deep to be written. Road not taken: `, ` and `: ` as some templates
    write; tokenizers make the same number of tokens of nearly all of it, and the bill scales the rest.
    """
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        return ""
