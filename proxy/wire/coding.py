"""Content codings undone on the copy: gzip, deflate, br and zstd, also several in a row.

One rule: whatever a piece yields is given out with that piece. A decoder that waits for more would
move the first token to the next read. What cannot be decoded becomes a `Note`: the bytes themselves
have long been relayed as they came.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final, Protocol

import brotli  # type: ignore[import-untyped]  # it ships no types
import zstandard

from .exchange import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

OUTPUT_BOUND: Final = 128 * 2**20
"""Bytes that one body may become, steps between two codings included. A few kB can be made to decode
to many GB; no prompt and no answer is this long."""

_STEP: Final = 256
"""Input bytes given to a decoder at once. It bounds what one call can return: zstd's densest block
turns 4 bytes into 128 KiB (RFC 8878 section 3.1.1.2), so this is 8 MiB at most."""

_BROTLI_STEP: Final = 64 * 2**10
"""Output bytes asked of brotli at once: its ratio has no bound, so input steps alone do not help."""

_ZSTD_WINDOW: Final = 8 * 2**20
"""RFC 9659: in a content coding no frame may need a larger window."""

_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS


class _BehindEndError(Exception):
    """Bytes stand behind the end of the coded data."""


_FAULTS: Final = (zlib.error, brotli.error, zstandard.ZstdError, _BehindEndError)


class _Coding(Protocol):
    """Undoes one coding. May raise one of `_FAULTS`; what it yielded before stays good."""

    whole: bool
    """True when the input so far is complete coded data."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what a piece, never an empty one, decodes to."""


class _Gzip:
    """RFC 1952: members, one or more; zeroes behind the last are padding, as gzip(1) has it."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self.whole = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self.whole:
                data = data.lstrip(b"\0")
            yield self._member.decompress(data)
            self.whole = self._member.eof or (self.whole and not data)
            data = self._member.unused_data
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP_WINDOW)


class _Deflate:
    """RFC 9110 section 8.4.1.2: zlib data. Some send it bare, and every browser takes both."""

    def __init__(self) -> None:
        self._head = b""
        self._inflate: zlib._Decompress | None = None
        self.whole = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                self.whole = False
                return
            self._inflate = zlib.decompressobj(_deflate_window(data))
        elif self._inflate.eof:
            raise _BehindEndError
        yield self._inflate.decompress(data)
        self.whole = self._inflate.eof
        if self._inflate.unused_data:
            raise _BehindEndError


def _deflate_window(head: bytes) -> int:
    """Tell zlib data from bare deflate by its header, RFC 1950 section 2.2: method 8, checked mod 31.

    A bare stream would have to begin with a stored block whose padding is not zero to look like it.
    """
    is_zlib = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS


class _Brotli:
    """RFC 7932. The library drops the step in which it fails, so junk costs up to `_STEP` bytes."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self.whole = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._stream.process(data, output_buffer_limit=_BROTLI_STEP)
        while not self._stream.can_accept_more_data():
            yield self._stream.process(b"", output_buffer_limit=_BROTLI_STEP)
        self.whole = self._stream.is_finished()


class _Zstd:
    """RFC 8878: frames, one or more, skippable ones between them."""

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame = self._context.decompressobj()
        self.whole = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield self._frame.decompress(data)
            self.whole = self._frame.eof
            data = self._frame.unused_data
            if self._frame.eof:
                self._frame = self._context.decompressobj()


_CODINGS: Final[dict[str, type[_Coding]]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}


class ContentDecoder:
    """Undoes a body's codings, the last applied first. Never raises on what it is fed."""

    def __init__(self, codings: Sequence[str], bound: int = OUTPUT_BOUND) -> None:
        """`codings` as in `Content-Encoding`, lower case, in order; `bound` in bytes of output."""
        self.notes: list[Note] = []
        """Why it stopped, or what was missing at the end; empty while all is well."""
        self._bound = bound
        self._left = bound
        self._stopped = False
        self._chain: list[tuple[str, _Coding]] = []
        for name in reversed(codings):
            if name in _CODINGS:
                self._chain.append((name, _CODINGS[name]()))
            elif name != "identity":
                self._stop("coding_unknown", name[:40])

    def feed(self, data: bytes) -> bytes:
        """All that can be decoded by now; empty for good once a note says why."""
        if self._stopped:
            return b""
        pieces: Iterable[bytes] = (data,)
        for name, coding in self._chain:
            pieces = self._undo(name, coding, pieces)
        return b"".join(pieces)

    def close(self) -> bytes:
        """No more will come: note a coding that was cut. Nothing is ever held back: returns b""."""
        cut = [name for name, coding in self._chain if not coding.whole]
        if cut and not self._stopped:
            self._stop("coding_cut", cut[0])
        return b""

    def _undo(self, name: str, coding: _Coding, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Lazy, so that of a bomb between two codings no more is made than the bound allows."""
        for piece in pieces:
            for start in range(0, len(piece), _STEP):
                try:
                    for output in coding.feed(piece[start : start + _STEP]):
                        if self._stopped or not self._spend(name, len(output)):
                            return
                        yield output
                except _FAULTS as fault:
                    self._stop("coding_broken", f"{name}: {fault or 'bytes behind its end'}")
                    return

    def _spend(self, name: str, count: int) -> bool:
        self._left -= count
        if self._left >= 0:
            return True
        self._stop("coding_too_long", f"{name}: more than {self._bound} bytes")
        return False

    def _stop(self, code: str, detail: str) -> None:
        if not self._stopped:
            self._stopped = True
            self.notes.append(Note(code, "", detail))
