"""Content codings: at every cut, at once, and bounded, whatever the bytes are."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.coding import ContentDecoder
from tests.support.cuts import every_cut, every_junk

TEXT = b'data: {"delta": "caf\xc3\xa9"}\n\n' * 40


def deflate_raw(data):
    """Deflate without zlib's head and sum, as some servers send it."""
    coder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return coder.compress(data) + coder.flush()


ENCODE = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate without head": deflate_raw,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
every_coding = pytest.mark.parametrize("coding", ENCODE)


def undo(codings, pieces, bound=2**20):
    """The decoded bytes and the codes of the notes."""
    undoing = ContentDecoder(codings, bound)
    output = b"".join(map(undoing.feed, pieces)) + undoing.close()
    return output, [note.code for note in undoing.notes]


def name_of(coding):
    """What the header says for a row of ENCODE."""
    return coding.split()[0]


@every_coding
@every_cut
def test_each_coding_is_undone(coding, cut):
    """The text comes back whole and without a note, wherever its coded form is cut."""
    assert undo([name_of(coding)], cut(ENCODE[coding](TEXT))) == (TEXT, [])


@every_coding
def test_a_short_body_is_undone(coding):
    """One byte and none at all are bodies too."""
    assert undo([name_of(coding)], [ENCODE[coding](b"a")]) == (b"a", [])
    assert undo([name_of(coding)], [ENCODE[coding](b"")]) == (b"", [])
    assert undo([name_of(coding)], []) == (b"", [])


def flushing(coding):
    """A coder as a streaming server uses it: each event is flushed."""
    if coding == "br":
        coder = brotli.Compressor()
        return lambda data: coder.process(data) + coder.flush()
    if coding == "zstd":
        coder = zstandard.ZstdCompressor().compressobj()
        return lambda data: coder.compress(data) + coder.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    window = {"gzip": 31, "x-gzip": 31, "deflate": 15, "deflate without head": -15}[coding]
    coder = zlib.compressobj(wbits=window)
    return lambda data: coder.compress(data) + coder.flush(zlib.Z_SYNC_FLUSH)


@every_coding
def test_what_was_flushed_comes_out_at_once(coding):
    """Each flushed event is out with the piece that brought it: no first token waits for a second."""
    flush = flushing(coding)
    undoing = ContentDecoder([name_of(coding)])

    for event in (b"data: 1\n\n", b"data: 2\n\n", b"data: three\n\n"):
        assert undoing.feed(flush(event)) == event


@every_cut
def test_several_codings_are_undone_from_the_last(cut):
    """`gzip, br` was gzip first; identity between them is nothing."""
    coded = brotli.compress(gzip.compress(TEXT))

    assert undo(["gzip", "br"], cut(coded)) == (TEXT, [])
    assert undo(["gzip", "identity", "br"], cut(coded)) == (TEXT, [])


@every_cut
def test_no_coding_is_no_change(cut):
    """Without a coding, or with identity, bytes pass as they are."""
    assert undo([], cut(TEXT)) == (TEXT, [])
    assert undo(["identity"], cut(TEXT)) == (TEXT, [])


@every_cut
def test_gzip_members_and_zstd_frames_follow_each_other(cut):
    """Several members or frames are one body; gzip's padding and zstd's skippable frames are nothing."""
    members = gzip.compress(TEXT) + gzip.compress(b"more") + b"\0" * 9
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    frames = zstandard.compress(TEXT) + skippable + zstandard.compress(b"more")

    assert undo(["gzip"], cut(members)) == (TEXT + b"more", [])
    assert undo(["zstd"], cut(frames)) == (TEXT + b"more", [])


@every_coding
@every_cut
@every_junk
def test_junk_behind_is_noted(coding, cut, junk):
    """Junk behind the coded data raises nothing and adds nothing; br alone may lose its last step."""
    output, notes = undo([name_of(coding)], cut(ENCODE[coding](TEXT) + junk))

    padding = name_of(coding).endswith("gzip") and not junk.strip(b"\0")
    assert output == TEXT or (coding == "br" and TEXT.startswith(output))
    assert len(notes) == (0 if padding else 1)


@every_coding
def test_a_cut_body_gives_what_it_held(coding):
    """A body that ends too early yields what came and a note."""
    coded = ENCODE[coding](TEXT)

    output, notes = undo([name_of(coding)], [coded[:-2]])

    assert TEXT.startswith(output)
    assert notes == ["coding_cut"]


@every_coding
@every_cut
def test_broken_data_is_noted(coding, cut):
    """What never was in that coding yields one note and no more."""
    output, notes = undo([name_of(coding)], cut(b"\xff\xff{ this was never coded }" * 20))

    assert len(output) < 200
    assert notes in (["coding_broken"], ["coding_cut"])


def test_an_unknown_coding_is_noted_at_once():
    """A coding nobody knows yields nothing but its name."""
    undoing = ContentDecoder(["exi", "gzip", "pack200"])

    assert undoing.feed(b"abc") == b""
    assert [str(note) for note in undoing.notes] == ["coding_unknown: pack200"]


BOMB = b"\0" * (16 * 2**20)


@every_coding
def test_a_bomb_is_bounded(coding):
    """A small body that becomes a huge one stops at the bound, and stays stopped."""
    undoing = ContentDecoder([name_of(coding)], bound=2**20)
    output = undoing.feed(ENCODE[coding](BOMB))

    assert len(output) <= 2**20
    assert [note.code for note in undoing.notes] == ["coding_too_long"]
    assert undoing.feed(b"more") == b""


def test_a_bomb_between_two_codings_is_bounded():
    """The steps between codings count: a bomb may decode to little in the end."""
    inner = gzip.compress(b"x") * 100_000

    output, notes = undo(["gzip", "gzip"], [gzip.compress(inner)])

    assert notes == ["coding_too_long"]
    assert 0 < len(output) < 100_000


def test_a_zstd_window_beyond_the_standard_is_refused():
    """RFC 9659 bounds the window: a frame that wants 16 MiB of memory is not decoded."""
    wide = zstandard.ZstdCompressionParameters(window_log=24, hash_log=6, chain_log=6)
    coder = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    coded = coder.compress(b"a") + coder.flush()

    assert undo(["zstd"], [coded]) == (b"", ["coding_broken"])


@given(st.binary(), st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"])))
def test_no_bytes_raise(data, codings):
    """Any bytes in any codings are read without an exception."""
    undo(codings, [data[:3], data[3:]])
