"""The corpus: exchanges written by hand as text, made into the frames that a relay would send.

One rule: the file says what was said and when; everything that only carries it (Host, lengths, chunks,
compression) is put around it here. The format is described in tests/corpus/README.md.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import brotli
import orjson
import zstandard

from proxy.dialects.table import choose
from proxy.journal.derive import Context, derive, understand
from proxy.journal.record import Load
from proxy.wire.exchange import Ending, Opening, Outcome
from proxy.wire.frame import Frame, FrameReader, Kind, Mark, frame
from proxy.wire.head import values
from proxy.wire.tape import START_BYTES, Tape
from tests.support.cuts import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proxy.journal.record import Record
    from proxy.wire.head import Headers
    from tests.support.cuts import Cut

CORPUS: Final = Path(__file__).resolve().parents[1] / "corpus"
MS: Final = 1_000_000
OPENED_NS: Final = 3_600_000 * MS
"""Monotonic time of the first and last request byte: a file's times count from here."""

_STEP: Final = re.compile(r"\+(\d+(?:\.\d+)?) (.*)")
_ESCAPE: Final = re.compile(rb"\\(?:n|r|\\|x[0-9a-fA-F]{2})")
_ESCAPED: Final = {rb"\n": b"\n", rb"\r": b"\r", rb"\\": b"\\"}


@dataclass(frozen=True)
class Case:
    """One exchange and what its record must say."""

    name: str
    """`<dialect>/<file>`, without its ending."""
    request: bytes
    """As on the wire."""
    reply: tuple[tuple[int, bytes], ...]
    """Time of arrival in ns and bytes as on the wire, for each read."""
    ended_ns: int
    outcome: Outcome
    framed: bool
    """Whether the reply says where it ends, so that what stands behind is none of it."""
    expected: dict
    """Part of the record; every field in here must be in the record with this value."""

    def frames(self, cut: Cut = whole, junk: bytes = b"") -> list[Frame]:
        """What the relay sends: every read cut into pieces with its time, `junk` behind the last."""
        reads = list(self.reply)
        if junk:
            reads[-1] = (reads[-1][0], reads[-1][1] + junk)
        opening = Opening(1, 1, "127.0.0.1:8800", "", "http://127.0.0.1:8000", "127.0.0.1:5000")
        size = sum(len(data) for _, data in reads)
        ending = Ending(self.outcome, request_bytes=len(self.request), reply_bytes=size)
        frames = [frame(Kind.OPEN, 1, OPENED_NS, opening.encode())]
        frames += [frame(Kind.REQUEST, 1, OPENED_NS, piece) for piece in cut(self.request) if piece]
        frames.append(frame(Kind.MARK, 1, OPENED_NS, code=Mark.REQUEST_END))
        for at_ns, data in reads:
            frames += [frame(Kind.REPLY, 1, at_ns, piece) for piece in cut(data) if piece]
        if self.outcome is Outcome.complete:
            frames.append(frame(Kind.MARK, 1, self.ended_ns, code=Mark.REPLY_END))
        frames.append(frame(Kind.END, 1, self.ended_ns, ending.encode()))
        return frames


def cases() -> list[Case]:
    """All cases, by name. Raises ValueError with file and line on a fault in one."""
    return [_load(path) for path in sorted(CORPUS.glob("*/*.tape"))]


def record_of(sent: bytes, cut: Cut = whole) -> Record:
    """Frames in their byte form, through reader, tape and dialect, to the record."""
    reader = FrameReader()
    first, *rest = [found for piece in cut(sent) for found in reader.feed(piece)]
    tape = Tape(
        1,
        Opening.decode(first.data),
        first.at_ns,
        lambda request, start, reply: choose(request, start).reply_reader(request, reply),
    )
    for found in rest:
        if found.kind is Kind.END:
            exchange = tape.seal(Ending.decode(found.data), found.at_ns)
            break
        tape.take(found)
    dialect = choose(exchange.request, exchange.request_body[:START_BYTES])
    context = Context("run", Load(), counter=None)
    return derive(exchange, understand(exchange, dialect), context).record


def differences(expected: object, found: object, place: str = "record") -> Iterator[str]:
    """Where `found` is not as `expected`: objects by the fields expected, `_ms` against `_ns`."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            name, wanted = (key, value) if key in found else _in_ns(key, value)
            if name in found:
                yield from differences(wanted, found[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}: there is no such field"
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for n, (wanted, got) in enumerate(zip(expected, found, strict=True)):
            yield from differences(wanted, got, f"{place}[{n}]")
    elif expected != found or type(expected) is not type(found):
        yield f"{place}: expected {expected!r}, found {found!r}"


def _in_ns(key: str, value: object) -> tuple[str, object]:
    if not key.endswith("_ms"):
        return key, value
    return key.removesuffix("_ms") + "_ns", None if value is None else round(value * MS)


def _load(path: Path) -> Case:
    lines = path.read_text(encoding="utf-8").split("\n")
    start = next((n for n, line in enumerate(lines) if _STEP.fullmatch(line)), len(lines))
    try:
        request = _request([line for line in lines[:start] if not line.startswith("#")])
        reply, framed, ended_ns, outcome = _reply(lines[start:])
    except (ValueError, IndexError) as fault:
        raise ValueError(f"{path}: {fault}") from fault
    expected = {"notes": []} | orjson.loads(path.with_suffix(".json").read_bytes())
    name = f"{path.parent.name}/{path.stem}"
    return Case(name, request, reply, ended_ns, outcome, framed, expected)


def _request(lines: list[str]) -> bytes:
    line, *rest = lines
    blank = rest.index("") if "" in rest else len(rest)
    headers = _headers(rest[:blank])
    body = "\n".join(rest[blank + 1 :]).strip("\n").encode()
    code, finish = _coder(headers)
    coded = code(body) + finish() if body else b""
    length = [("Content-Length", str(len(coded)))] if coded else []
    return _head(f"{line} HTTP/1.1", (("Host", "127.0.0.1:8800"), *headers, *length)) + coded


def _reply(lines: list[str]) -> tuple[tuple[tuple[int, bytes], ...], bool, int, Outcome]:
    """The reads, whether they say where they end, the time of the end, and the outcome."""
    steps = [(n, found) for n, line in enumerate(lines) if (found := _STEP.fullmatch(line))]
    ended_ns, outcome = _end(steps[-1][1])
    if len(steps) == 1:
        return (), False, ended_ns, outcome
    (first, status), *pieces = steps[:-1]
    headers = _headers(
        [line for line in lines[first + 1 : pieces[0][0] if pieces else None] if line]
    )
    said = {name.lower() for name, _ in headers}
    chunked = not said & {"content-length", "connection"}
    code, finish = _coder(headers)
    body = [(_at(step), code(_unescape(step[2].removeprefix("> ")))) for _, step in pieces]
    if outcome is Outcome.complete:
        body.append((ended_ns, finish()))
    length = sum(len(data) for _, data in body)
    filled = [(n, str(length) if n.lower() == "content-length" else v) for n, v in headers]
    framing = [("Transfer-Encoding", "chunked")] if chunked else []
    reads = [(_at(status), _head(f"HTTP/1.1 {status[2]} Status", (*filled, *framing)))]
    reads += [(at_ns, _chunk(data) if chunked else data) for at_ns, data in body]
    if chunked and outcome is Outcome.complete:
        reads.append((ended_ns, b"0\r\n\r\n"))
    return tuple(reads), chunked or "content-length" in said, ended_ns, outcome


def _end(step: re.Match[str]) -> tuple[int, Outcome]:
    word, _, name = step[2].partition(" ")
    if word != "end":
        raise ValueError(f"the last line must say `end`, not `{step[0]}`")
    return _at(step), Outcome[name or "complete"]


def _at(step: re.Match[str]) -> int:
    return OPENED_NS + round(float(step[1]) * MS)


def _head(line: str, headers: Headers) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{line}\r\n{fields}\r\n".encode("latin-1")


def _headers(lines: list[str]) -> Headers:
    return tuple((name, value.strip()) for name, _, value in (x.partition(":") for x in lines))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def _unescape(text: str) -> bytes:
    r"""Bytes of a piece: `\n`, `\r`, `\\` and `\xHH`; any other backslash is JSON's own."""
    return _ESCAPE.sub(
        lambda found: _ESCAPED.get(found[0]) or bytes.fromhex(found[0][2:].decode()), text.encode()
    )


def _coder(headers: Headers) -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    """The head's content coding as a server streams it: flushed with each piece."""
    coding = next(iter(values(headers, "content-encoding")), "")
    if coding in ("gzip", "deflate"):
        flate = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
        return lambda data: flate.compress(data) + flate.flush(zlib.Z_SYNC_FLUSH), flate.flush
    if coding == "br":
        br = brotli.Compressor()
        return lambda data: br.process(data) + br.flush(), br.finish
    if coding == "zstd":
        zstd = zstandard.ZstdCompressor().compressobj()
        flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
        return lambda data: zstd.compress(data) + zstd.flush(flush), zstd.flush
    return lambda data: data, lambda: b""
