"""The byte form of frames: what goes into the pipe comes out of it, however it was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.frame import HEADER, LEFT_OUT, Frame, FrameReader, Kind, Mark, frame
from tests.support.cuts import at_random, every_cut, every_junk

NUMBERS = st.integers(0, 2**64 - 1)
WHOLE = st.builds(
    frame, st.sampled_from(Kind), NUMBERS, NUMBERS, st.binary(max_size=60), st.integers(0, 255)
)
LEAN = st.builds(
    Frame,
    st.just(Kind.REPLY),
    NUMBERS,
    NUMBERS,
    data=st.just(b""),
    length=st.integers(1, 2**32 - 1),
    code=st.just(0),
)
FRAMES = st.lists(WHOLE | LEAN, max_size=8)

TRACE = [
    frame(Kind.OPEN, 1, 1_000, b"opening"),
    frame(Kind.REQUEST, 1, 1_000, b"GET / HTTP/1.1\r\n\r\n"),
    frame(Kind.MARK, 1, 1_000, b"", Mark.REQUEST_END),
    frame(Kind.MARK, 1, 1_100, b"127.0.0.1:8000", Mark.CONNECTED),
    Frame(Kind.REPLY, 1, 2_000, b"", 70_000),
    frame(Kind.REPLY, 1, 3_000, bytes(range(256)) * 20),
    frame(Kind.END, 1, 4_000, b"ending"),
    frame(Kind.BYE, 0, 5_000),
]
BYTES = b"".join(f.encode() for f in TRACE)


def read(pieces):
    """All frames of a stream, and whether it broke."""
    reader = FrameReader()
    return [f for piece in pieces for f in reader.feed(piece)], reader.broken


@given(FRAMES, st.integers(0, 2**32), st.integers(1, 80))
def test_what_was_written_is_read(frames, seed, longest):
    """Any frames come back as they were, wherever the pipe cuts them."""
    stream = b"".join(f.encode() for f in frames)

    assert read(at_random(stream, seed, longest)) == (frames, False)


@every_cut
def test_each_cut_gives_the_same_frames(cut):
    """A piece of the pipe is no unit of meaning."""
    assert read(cut(BYTES)) == (TRACE, False)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_what_a_socket_gives(kind):
    """Bytes and views of a buffer that is used again are read alike."""
    buffer = bytearray(BYTES)
    reader = FrameReader()
    frames = list(reader.feed(kind(buffer)))
    buffer[:] = bytes(len(buffer))

    assert frames == TRACE


def test_a_frame_is_given_as_soon_as_its_last_byte_is_there():
    """Nothing waits for the next frame; what is not whole is pending."""
    reader = FrameReader()
    one = TRACE[1].encode()

    assert list(reader.feed(one[:-1])) == []
    assert reader.pending == len(one) - 1
    assert list(reader.feed(one[-1:])) == [TRACE[1]]
    assert reader.pending == 0


def test_frames_may_be_taken_one_at_a_time():
    """Whoever stops in the middle finds the rest where he left it, also when more came meanwhile."""
    reader = FrameReader()
    frames = reader.feed(BYTES)

    assert next(frames) == TRACE[0]
    assert list(reader.feed(b"")) == []
    assert list(frames) == TRACE[1:]


def test_a_frame_without_its_bytes_keeps_their_number():
    """Left out: time and length stay, and the reader does not wait for bytes that never come."""
    lean = Frame(Kind.REPLY, 7, 9, b"", 70_000)
    (back,) = FrameReader().feed(lean.encode())

    assert back == lean
    assert back.left_out
    assert len(lean.encode()) == HEADER.size


@pytest.mark.parametrize("data", [b"", b"ab"])
def test_a_frame_with_all_its_bytes_has_left_out_nothing(data):
    """A mark has no bytes at all, which is not the same as having lost them."""
    assert not frame(Kind.MARK, 1, 1, data).left_out


def test_part_of_the_bytes_is_none_of_them():
    """A frame that holds fewer bytes than came is written without any: the next one must be found."""
    part = Frame(Kind.REPLY, 1, 1, b"ab", 5)
    following = frame(Kind.REPLY, 1, 2, b"c")

    assert read([part.encode() + following.encode()]) == (
        [Frame(Kind.REPLY, 1, 1, b"", 5), following],
        False,
    )


@every_cut
@pytest.mark.parametrize("number", [0, max(Kind) + 1, 255])
def test_an_unknown_kind_breaks_the_stream(number, cut):
    """What came before stays good; nothing behind it is believed, however well it looks."""
    unknown = HEADER.pack(number, 0, 0, 0, 1, 1)
    reader = FrameReader()
    pieces = cut(BYTES + unknown + BYTES)

    assert [f for piece in pieces for f in reader.feed(piece)] == TRACE
    assert reader.broken
    assert list(reader.feed(BYTES)) == []
    assert reader.pending == 0


@every_cut
@every_junk
def test_junk_behind_takes_nothing_back(junk, cut):
    """Frames that were whole before the junk came are given, and nothing raises."""
    frames, _broken = read(cut(BYTES + junk * 10))

    assert frames[: len(TRACE)] == TRACE


@given(st.lists(st.binary(max_size=100)))
def test_never_raises(pieces):
    """Whatever the pipe carries, reading it ends in frames or in `broken`."""
    frames, _broken = read(pieces)

    assert all(isinstance(f.kind, Kind) for f in frames)


def test_the_numbers_on_the_wire_are_fixed():
    """A dump of an earlier version is read by every later one."""
    header = Frame(Kind.MARK, 3, 4, b"", 5, Mark.SENT).encode()

    assert header == bytes.fromhex("04 03 0100 05000000 0300000000000000 0400000000000000")
    assert LEFT_OUT == 1
    assert [kind.name for kind in Kind] == [
        "OPEN", "REQUEST", "REPLY", "MARK", "END", "RESUME", "LOST", "BYE",
        "PIPE", "BEGIN", "READY", "STOP", "HURRY", "SCRAPE", "METRICS",
    ]  # fmt: skip
    assert [mark.name for mark in Mark] == [
        "DIAL", "CONNECTED", "SENT", "REQUEST_END", "REPLY_END", "UNFRAMED_REQUEST",
        "UNFRAMED_REPLY", "TUNNEL",
    ]  # fmt: skip
    assert list(Kind) == list(range(1, 16))
    assert list(Mark) == list(range(1, 9))
