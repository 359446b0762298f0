"""Damage: what bytes and JSON may look like that nobody meant to send.

One rule: all of it follows from a seed, so a failure can be had again, and what is not damaged is known
to the caller. Nothing here judges.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any, Final

import orjson
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[str | int, ...]

HOSTILE: Final[tuple[bytes, ...]] = (
    b"null", b"true", b"false", b"0", b"-1", b"-0.0", b"1.5", b"1e999", b"-1e999", b"NaN", b"Infinity",
    b"9007199254740993", b"18446744073709551616", b"9" * 400, b"9" * 5000, b'""', b'"x"', b"[]", b"{}",
    rb'"\ud800"', rb'"\udc00\ud800"', rb'"\u0000\u001b[2J"', '"\u2028\U0001f600"'.encode(), b'"\xff\xfe"',
    b'"' + b"long " * 3000 + b'"', b"[" * 3000 + b"]" * 3000, b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b"[" * 20_000, b'{"type":"text","text":7}', b'[{"type":"text","text":"t"},null,7,"x",[[]],{}]',
    b'{"type":[],"name":{},"content":{"content":[{"content":0}]}}', b'{"error":{"type":"x","code":[]}}',
    b'{"\\ud800":"\\udfff"}', b'{"":{"":{"":""}}}', b'["x",["y"],[["z"]]]', b"[1,2,3]", b"[NaN,-1e400]",
    b"2026-01-01", b"nul", b"'x'", b"[1,]", b'{"a":1,"a":[2]}', b"/* c */ 1", b"01", b"+1", b".5",
)  # fmt: skip
"""JSON texts, some of them none, that may stand where anything may stand."""

_TOKENS: Final = (
    b"\r\n", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"data: ", b"data:[DONE]\n\n",
    b"event: error\n", b":\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"5;a=b\r\n", b"{", b"}", b"[", b"]",
    b'"', b"\\", b",", b"null", b"Content-Length: 5\r\n", b"Content-Length: 18446744073709551617\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Connection: close\r\n",
    b"Upgrade: websocket\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 101 S\r\n\r\n", b"Host: a\r\n",
    b"GET / HTTP/1.1\r\n\r\n", b" ", b"\t", b":", b"%", b"\x16\x03\x01\x02\x00\x01", b"\x82\x7f" + b"\xff" * 8,
)  # fmt: skip


def examples(share: float = 1.0) -> settings:
    """A share of the profile's examples, without a deadline for one: some are long by nature."""
    return settings(deadline=None, max_examples=round(settings.default.max_examples * share))


def damaged(data: bytes, seed: int, other: bytes = b"") -> bytes:
    """The bytes with one to four faults; `other` is what pieces are taken from besides."""
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 4)):
        data = _fault(data, draw, other or data)
    return data


def _fault(data: bytes, draw: random.Random, other: bytes) -> bytes:
    start = draw.randint(0, len(data))
    end = min(len(data), start + draw.choice((1, 1, 2, 8, 50, 400)))
    piece = data[start:end]
    at = draw.randint(0, len(other))
    changed = {
        "flip": bytes(byte ^ 1 << draw.randrange(8) for byte in piece),
        "any": draw.randbytes(len(piece)),
        "delete": b"",
        "duplicate": piece * draw.choice((2, 2, 3, 30)),
        "splice": other[at : at + draw.choice((1, 10, 300))] + piece,
        "token": draw.choice(_TOKENS) + piece,
        "swap": piece[::-1],
    }
    kind = draw.choice((*changed, "truncate"))
    return data[:start] if kind == "truncate" else data[:start] + changed[kind] + data[end:]


_MARK: Final = "\ue000hostile\ue000"
_OBJECT: Final = re.compile(rb"[\[{][^\r\n]*[\]}]")


def hostile_json(text: bytes, seed: int) -> bytes:
    """JSON with up to three of its values, or of its keys' values twice, replaced by hostile ones."""
    draw = random.Random(seed)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    for _ in range(draw.randint(1, 3)):
        value = _put(value, draw.choice(list(_paths(value))), draw)
    mark = orjson.dumps(_MARK)
    *pieces, last = orjson.dumps(value).split(mark)
    return b"".join(piece + draw.choice(HOSTILE) for piece in pieces) + last


def hostile_events(content: bytes, seed: int) -> bytes:
    """A stream or a body in which each JSON of a line may have become hostile."""
    draw = random.Random(seed)

    def change(found: re.Match[bytes]) -> bytes:
        return hostile_json(found[0], draw.getrandbits(32)) if draw.random() < 0.5 else found[0]

    return _OBJECT.sub(change, content)


def _paths(value: Any, so_far: Path = ()) -> Iterator[Path]:
    yield so_far
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*so_far, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _paths(inner, (*so_far, number))


def _put(value: Any, path: Path, draw: random.Random) -> Any:
    """The value with something else at a path: hostile, gone, or many times the same."""
    if not path:
        return draw.choice((_MARK, [_MARK, value], {"x": _MARK, **_dict(value)}))
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    last = path[-1]
    kind = draw.choice(("hostile", "hostile", "hostile", "gone", "many"))
    if kind == "hostile":
        holder[last] = _MARK
    elif kind == "gone":
        del holder[last]
    elif isinstance(last, int):
        holder[last:last] = [holder[last]] * draw.choice((1, 100))
    else:
        holder[last] = [holder[last]] * 3
    return value


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
