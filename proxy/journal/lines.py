"""Records to lines and back: JSON Lines, one object a line, `v` first.

One rule: a line that cannot be read is a `Damage` in the stream, never an exception and never a lost
neighbour. Every line begins with `{"v":`, and inside of a JSON string that sequence cannot occur (its
quotes would be escaped), so a record that a crash glued behind a torn one is found again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from .record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Fields = dict[str, Any]
    Upgrade = Callable[[Fields], Fields]

UPGRADES: Final[tuple[Upgrade, ...]] = ()
"""Step n turns the fields of version n (from 1) into those of n + 1. Never change one: add one."""

MARKER: Final = b'{"v":'
"""How each line begins; `v` is the first field of everything that is written here."""

LONGEST_LINE: Final = 16 * 2**20
"""Bytes. A record has about 2,000; a file without line ends must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A piece of a line that is no record."""

    line: int
    """From 1."""
    length: int
    """Bytes."""
    reason: str


class Piece(NamedTuple):
    """What was read, and where it stands."""

    line: int
    """From 1."""
    data: bytes | None
    """Its bytes, without the line's end; None: a line too long to be kept."""
    read: Record | Damage | None
    """None: a blank line."""


class _Version(msgspec.Struct):
    v: int


_encoder: Final = msgspec.json.Encoder()
_record: Final = msgspec.json.Decoder(Record)
_version: Final = msgspec.json.Decoder(_Version)
_fields: Final = msgspec.json.Decoder(dict)

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises: no JSON or another shape, no UTF-8, nested too deep."""


def encode(line: msgspec.Struct) -> bytes:
    """A record, or another struct of the journal, as one line with its end.

    Never raises on content: others' text may hold halves of surrogate pairs, which have no UTF-8 form;
    they become U+FFFD.
    """
    try:
        return _encoder.encode(line) + b"\n"
    except UnicodeEncodeError:
        return _encoder.encode(_mended(msgspec.to_builtins(line))) + b"\n"


def read_lines(
    data: Iterable[bytes], upgrades: Sequence[Upgrade] = UPGRADES
) -> Iterator[Record | Damage]:
    """Yield each record, and each piece of a line that is none, in order.

    `data` may be cut anywhere. A last line without its end counts if it is whole: its writer lost no
    more than the line feed.
    """
    for piece in read_pieces(data, upgrades):
        if piece.read is not None:
            yield piece.read


def read_pieces(data: Iterable[bytes], upgrades: Sequence[Upgrade] = UPGRADES) -> Iterator[Piece]:
    """As `read_lines`, with all bytes: those of one line's pieces put together are the line."""
    for number, line in enumerate(_split(data), start=1):
        if isinstance(line, int):
            too_long = Damage(number, line, f"longer than {LONGEST_LINE} bytes")
            yield Piece(number, None, too_long)
        elif line.strip():
            yield from _read_line(number, line, upgrades)
        else:
            yield Piece(number, line, None)


def _split(data: Iterable[bytes]) -> Iterator[bytes | int]:
    """Lines without their ends; the length alone of one that is too long to keep."""
    rest = bytearray()
    passed = 0
    for piece in data:
        *ended, open_end = piece.split(b"\n")
        for end in ended:
            rest += end
            yield passed + len(rest) if passed else bytes(rest)
            rest.clear()
            passed = 0
        rest += open_end
        if passed or len(rest) > LONGEST_LINE:
            passed += len(rest)
            rest.clear()
    if passed or rest:
        yield passed + len(rest) if passed else bytes(rest)


def _read_line(number: int, line: bytes, upgrades: Sequence[Upgrade]) -> Iterator[Piece]:
    whole = _read(line, upgrades)
    if isinstance(whole, Record):
        yield Piece(number, line, whole)
        return
    for piece in _glued(line):
        read = whole if len(piece) == len(line) else _read(piece, upgrades)
        what = Damage(number, len(piece), read) if isinstance(read, str) else read
        yield Piece(number, piece, what)


def _glued(line: bytes) -> Iterator[bytes]:
    """The line cut in front of each thing that begins as a line does."""
    start = 0
    while start < len(line):
        found = line.find(MARKER, start + 1)
        end = len(line) if found < 0 else found
        yield line[start:end]
        start = end


def _read(line: bytes, upgrades: Sequence[Upgrade]) -> Record | str:
    """A record, or why it is none."""
    newest = len(upgrades) + 1
    try:
        record = _record.decode(line)
        return record if record.v == newest else _upgraded(line, upgrades)
    except UNREADABLE as fault:
        return _upgraded(line, upgrades) if _is_other_version(line, newest) else str(fault)


def _is_other_version(line: bytes, newest: int) -> bool:
    try:
        return _version.decode(line).v != newest
    except UNREADABLE:
        return False


def _upgraded(line: bytes, upgrades: Sequence[Upgrade]) -> Record | str:
    """For a line whose version has been read; of its other fields nothing is known to be sound."""
    version, newest = _version.decode(line).v, len(upgrades) + 1
    if not 1 <= version <= newest:
        return f"version {version}: this turnscope reads 1 to {newest}; use a newer one"
    try:
        fields: Fields = _fields.decode(line)
        for step in upgrades[version - 1 :]:
            fields = step(fields)
        return msgspec.convert(fields | {"v": newest}, Record)
    except (*UNREADABLE, LookupError, TypeError, ValueError) as fault:
        return f"version {version} does not upgrade: {fault}"


def _mended(value: Any) -> Any:
    """The same with valid Unicode in every string."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(k): _mended(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_mended(v) for v in value]
    return value
