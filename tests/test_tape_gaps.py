"""Tapes of which something is missing, and what holds for all of them."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.frame import Frame, Kind
from tests.support.bodies import STREAM_HEAD, chunked, reply, request, sse
from tests.support.cuts import at_random
from tests.support.taping import Taping

STREAM = STREAM_HEAD + chunked(sse({"n": 1}), sse("[DONE]"))
QUESTION = b'{"model":"m"}'


def test_a_body_of_just_the_bound_is_kept():
    """The bound is what may be kept."""
    sealed, notes = Taping(bound=5_000).asked(request(b"q" * 5_000)).seal()

    assert (len(sealed.request_body), notes) == (5_000, [])


def test_a_gap_in_compressed_content_is_no_fault_of_the_coding():
    """What is missing was left out here, so only that is said."""
    body = gzip.compress(QUESTION * 50)
    raw = reply(body, "Content-Encoding: gzip")
    _sealed, notes = Taping().asked(request(b"")).answered(raw[:-20], 20).seal()

    assert notes == ["content_left_out: reply"]


FRAMES = st.builds(
    lambda kind, code, data, lean: Frame(kind, 1, 2_000, b"" if lean else data, len(data), code),
    st.sampled_from([Kind.REQUEST, Kind.REPLY, Kind.MARK]),
    st.integers(0, 12),
    st.binary(max_size=12)
    | st.sampled_from(
        [request(QUESTION), STREAM, reply(b"x", "Content-Encoding: gzip"), STREAM_HEAD]
    ),
    st.booleans(),
)


@given(st.lists(FRAMES, max_size=12))
def test_any_frames_make_an_exchange(frames):
    """Whatever the relay heard, it is sealed; nothing raises, and a listener is closed once."""
    taping = Taping()
    for one in frames:
        taping.tape.take(one)
    sealed, _notes = taping.seal()

    assert sealed.left_out_bytes <= sum(f.length for f in frames)


@given(st.binary(max_size=200), st.binary(max_size=200), st.integers(0, 2**32))
def test_questions_and_answers_come_out_as_they_went_in(question, answer, seed):
    """Whatever the bytes and wherever they were cut."""
    coded = STREAM_HEAD[:-2] + b"Content-Encoding: gzip\r\n\r\n" + chunked(gzip.compress(answer))
    taping = Taping().asked(*at_random(request(question), seed, 40))
    sealed, notes = taping.answered(*at_random(coded, seed, 40)).seal()

    assert (sealed.request_body, sealed.heard.content, notes) == (question, answer, [])
