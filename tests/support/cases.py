"""Cases of `tests/cases`: a public bug report each, as a request, a timed answer and what must be true.

This file turns one exchange of a case into bytes and steps; `test_cases` plays and judges it. The
format is described in tests/cases/README.md.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.support.bodies import chunk
from tests.support.upstream import Await, Call, Hang, Pause, Reset, Send, Step

FOLDER = Path(__file__).resolve().parent.parent / "cases"
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455 section 1.3."""


def all_cases() -> list[dict[str, Any]]:
    """Every case, in the order of the files."""
    lines = [
        line for path in sorted(FOLDER.glob("*.jsonl")) for line in path.read_bytes().splitlines()
    ]
    return [orjson.loads(line) for line in lines]


def generated(parts: list[dict[str, Any]]) -> bytes:
    """Bytes from a `*_gen` list."""
    return b"".join(
        part["text"].encode() if "text" in part else part["repeat"].encode() * part["count"]
        for part in parts
    )


def content(holder: dict[str, Any], name: str) -> bytes:
    """`body` or `data` in any of its three spellings."""
    if f"{name}_b64" in holder:
        return base64.b64decode(holder[f"{name}_b64"])
    if f"{name}_gen" in holder:
        return generated(holder[f"{name}_gen"])
    return holder.get(name, "").encode()


@dataclass(frozen=True)
class Asked:
    """The caller's side."""

    raw: bytes
    """All bytes to send."""
    body: bytes
    """The body without its transfer coding."""


def asked(request: dict[str, Any], host: str) -> Asked:
    """A request's bytes; Host and Content-Length are added unless listed."""
    body = content(request, "body")
    fields = [tuple(field) for field in request["headers"]]
    names = {name.lower() for name, _ in fields}
    if "host" not in names:
        fields.insert(0, ("Host", host))
    coded = body
    if request.get("transfer") == "chunked":
        fields.append(("Transfer-Encoding", "chunked"))
        size = request["chunk_size"]
        pieces = [body[n : n + size] for n in range(0, len(body), size)]
        coded = b"".join(map(chunk, pieces)) + b"0\r\n\r\n"
    elif body and "content-length" not in names:
        fields.append(("Content-Length", str(len(body))))
    version = request.get("http_version", "1.1")
    start = f"{request['method']} {request['path']} HTTP/{version}\r\n"
    head = start + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
    return Asked(head.encode("latin-1") + coded, body)


@dataclass(frozen=True)
class Answered:
    """The upstream's side."""

    steps: list[Step]
    body: bytes
    """All content, transfer coding removed."""


def answered(upstream: dict[str, Any]) -> Answered:
    """The steps that give the answer at its times."""
    framing = upstream.get("framing", "chunked")
    pieces = [content(piece, "data") for piece in upstream["chunks"]]
    body = b"".join(pieces)
    steps: list[Step] = [Await(), Pause(upstream.get("head_delay_ms", 0) / 1000)]
    steps.append(
        Call(lambda there: there.send(_head(upstream, framing, len(body), there.received)))
    )
    for spec, piece in zip(upstream["chunks"], pieces, strict=True):
        wire = chunk(piece) if framing == "chunked" else piece
        steps += [Pause(spec["delay_ms"] / 1000), Send(wire, split=spec.get("split", 0), within=20)]
    return Answered([*steps, *_ending(upstream, framing)], body)


def _head(upstream: dict[str, Any], framing: str, length: int, request: bytes) -> bytes:
    fields = [f"{name}: {value}" for name, value in upstream["headers"]]
    if framing == "chunked":
        fields.append("Transfer-Encoding: chunked")
    elif framing == "length":
        fields.append(f"Content-Length: {length}")
    text = "\r\n".join([f"HTTP/1.1 {upstream['status']} Said", *fields, "", ""])
    return text.replace("{{WS_ACCEPT}}", _accept(bytes(request))).encode("latin-1")


def _accept(request: bytes) -> str:
    key = next(
        (
            line.partition(b":")[2].strip()
            for line in request.split(b"\r\n")
            if line.lower().startswith(b"sec-websocket-key:")
        ),
        b"",
    )
    digest = hashlib.sha1(key + _GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()


def _ending(upstream: dict[str, Any], framing: str) -> list[Step]:
    if upstream["close"] == "reset":
        return [Pause(upstream.get("close_delay_ms", 0) / 1000), Reset()]
    if upstream["close"] == "hang":
        return [Hang()]
    if framing == "raw":
        return []
    return [Send(b"0\r\n\r\n"), Hang()] if framing == "chunked" else [Hang()]


def holds(value: Any, wanted: Any) -> bool:
    """Whether a value meets a matcher of a case."""
    if not isinstance(wanted, dict):
        return bool(value == wanted)
    if "not" in wanted:
        return not holds(value, wanted["not"])
    if "one_of" in wanted:
        return any(holds(value, one) for one in wanted["one_of"])
    if "value" in wanted:
        return value is not None and abs(value - wanted["value"]) <= wanted["tol"]
    low, high = wanted.get("min", value), wanted.get("max", value)
    return value is not None and low <= value <= high
