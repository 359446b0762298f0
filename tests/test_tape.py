"""The frames of one exchange become heads, bodies and times; what is missing is said, never guessed."""

from __future__ import annotations

import gzip

import brotli
import pytest

from proxy.wire.exchange import Ending, Note, Outcome
from proxy.wire.frame import Kind, Mark, frame
from proxy.wire.tape import START_BYTES, cut_short
from tests.support.bodies import STREAM_HEAD, chunked, head, reply, request, sse
from tests.support.builders import ending, opening
from tests.support.cuts import every_cut
from tests.support.taping import Taping

EVENTS = sse({"n": 1}) + sse("[DONE]")
STREAM = STREAM_HEAD + chunked(sse({"n": 1}), sse("[DONE]"))
QUESTION = b'{"model":"m"}'


def test_an_exchange_from_its_frames():
    """Heads, bodies, and the times at which each became known."""
    taping = Taping().asked(request(QUESTION)).mark(Mark.DIAL)
    taping.mark(Mark.CONNECTED, b"127.0.0.1:8000").mark(Mark.REQUEST_END).mark(Mark.SENT)
    taping.answered(STREAM_HEAD[:9], STREAM_HEAD[9:], STREAM[len(STREAM_HEAD) :]).mark(
        Mark.REPLY_END
    )
    sealed, notes = taping.seal()

    assert (sealed.number, sealed.opening, sealed.ending) == (1, opening(), ending())
    assert (sealed.request.method, sealed.request.path) == ("POST", "/v1/chat/completions")
    assert sealed.request_body == QUESTION
    assert (sealed.reply.status, sealed.heard.pieces) == (200, [(1_008, EVENTS)])
    assert (sealed.opened_ns, sealed.request_head_ns, sealed.dial_ns) == (1_000, 1_001, 1_002)
    assert (sealed.connected_ns, sealed.request_end_ns, sealed.sent_ns) == (1_003, 1_004, 1_005)
    assert (sealed.first_byte_ns, sealed.reply_head_ns, sealed.ended_ns) == (1_006, 1_007, 1_010)
    assert (sealed.backend, notes, sealed.left_out_bytes) == ("127.0.0.1:8000", [], 0)


BODIES = {
    "with a length": (reply, QUESTION),
    "chunked": (lambda data: STREAM_HEAD + chunked(data[:5], data[5:], trailers=b"A: b\r\n"), QUESTION),
    "compressed": (lambda data: reply(gzip.compress(data), "Content-Encoding: gzip"), QUESTION * 50),
    "chunked and compressed": (
        lambda data: head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Encoding:  BR")
        + chunked(*[brotli.compress(data)]),
        QUESTION * 50,
    ),
    "compressed twice": (
        lambda data: reply(brotli.compress(gzip.compress(data)), "Content-Encoding: gzip, br"),
        QUESTION * 50,
    ),
    "coded as it is": (lambda data: reply(data, "Content-Encoding: identity"), QUESTION),
    "to the end of the connection": (lambda data: head("HTTP/1.0 200 OK") + data, QUESTION),
    "behind interim replies": (lambda data: head("HTTP/1.1 103 Early Hints") + reply(data), QUESTION),
}  # fmt: skip


@every_cut
@pytest.mark.parametrize(("make", "content"), BODIES.values(), ids=BODIES)
def test_the_listener_hears_the_content_of_a_reply(make, content, cut):
    """All codings undone, whatever the frames are, and each piece with its frame's time."""
    sealed, notes = Taping().asked(request(b"")).answered(*cut(make(content))).seal()

    assert (sealed.heard.content, sealed.heard.closed, notes) == (content, 1, [])
    assert sealed.first_byte_ns == 1_002


@every_cut
@pytest.mark.parametrize(("make", "content"), list(BODIES.values())[:6], ids=list(BODIES)[:6])
def test_the_content_of_a_request_is_kept(make, content, cut):
    """The same for requests: some clients compress a long history."""
    raw = make(content).replace(b"HTTP/1.1 200 OK", b"POST /v1 HTTP/1.1", 1)
    sealed, notes = Taping().asked(*cut(raw)).seal()

    assert (sealed.request_body, notes, sealed.heard) == (content, [], None)


def test_the_listener_is_chosen_at_the_replys_head():
    """Once, with both heads and the first bytes of the question, before any of the answer."""
    question = b"q" * (START_BYTES + 10)
    taping = Taping().asked(request(question)).answered(head("HTTP/1.1 100 Continue"))
    assert taping.listeners == []

    taping.answered(reply(b"hi")[:-2])
    (listener,) = taping.listeners
    asked, start, answer = listener.asked
    assert (asked.method, start, answer.status, listener.pieces) == (
        "POST",
        question[:START_BYTES],
        200,
        [],
    )
    taping.answered(b"h", b"i").seal()
    assert [data for _at, data in listener.pieces] == [b"h", b"i"]
    assert len(taping.listeners) == 1


def test_pieces_of_a_reply_wait_for_others_but_not_for_long():
    """They are read together: before a mark, at the end, and once there are 16 KiB of them."""
    taping = Taping().asked(request(b"q")).answered(reply(b"x" * 100_000)[:-100_000])
    (listener,) = taping.listeners
    piece = b"x" * 1_000

    taping.answered(*[piece] * 16)
    assert listener.pieces == []
    taping.answered(piece)
    assert [data for _at, data in listener.pieces] == [piece] * 17
    times = [at for at, _data in listener.pieces]
    assert times == sorted(set(times))
    taping.answered(piece).mark(Mark.UNFRAMED_REPLY)
    assert len(listener.pieces) == 18


def test_an_early_reply_is_chosen_for_what_was_asked_so_far():
    """401 in mid body; the rest of the body is kept all the same."""
    raw = request(QUESTION)
    sealed, _notes = Taping().asked(raw[:-5]).answered(reply(b"no")).asked(raw[-5:]).seal()

    assert sealed.heard.asked[1] == QUESTION[:-5]
    assert sealed.request_body == QUESTION


def test_a_reply_to_head_has_no_content():
    """Its length is that of what it would have said."""
    sealed, _notes = Taping().asked(request(b"", line="HEAD /x")).answered(reply(b"hello")).seal()

    assert (sealed.reply.status, sealed.heard.pieces, sealed.heard.closed) == (200, [], 1)


@pytest.mark.parametrize(
    "part", [(), (head("HTTP/1.1 100 Continue"),), (b"HTTP/1.1 2",), (b"huh\r\n\r\n",)]
)
def test_without_a_final_head_there_is_no_reply(part):
    """An interim one, half a one, or something else: nobody listens, and its time is not known."""
    sealed, _notes = Taping().asked(request(b"")).answered(*part).seal(Outcome.upstream_aborted)

    assert (sealed.reply, sealed.reply_head_ns, sealed.heard) == (None, None, None)
    assert sealed.first_byte_ns == (1_002 if part else None)


@pytest.mark.parametrize("part", [(), (b"GET / HT",), (b"\x16\x03\x01",)])
def test_without_a_request_head_nobody_can_listen(part):
    """The reply's own head is kept."""
    sealed, _notes = Taping().asked(*part).answered(reply(b"hello")).seal()

    assert (sealed.request, sealed.request_head_ns, sealed.request_body) == (None, None, b"")
    assert (sealed.reply.status, sealed.heard) == (200, None)


def test_an_exchange_that_was_cut_keeps_what_came():
    """Half a question, or half an answer; marks that were not made are None."""
    half, _notes = Taping().asked(request(QUESTION)[:-5]).seal(Outcome.client_gone)
    assert (half.request_body, half.request_end_ns) == (QUESTION[:-5], None)
    assert (half.dial_ns, half.connected_ns, half.sent_ns, half.backend) == (None, None, None, None)

    taping = Taping().asked(request(QUESTION)).answered(STREAM_HEAD + b"20\r\ndata: hel")
    sealed = cut_short(taping.tape, Outcome.proxy_killed, 2_000)
    assert sealed.heard.content == b"data: hel"
    assert (sealed.ending, sealed.ended_ns) == (Ending(Outcome.proxy_killed), 2_000)


@pytest.mark.parametrize(
    ("coding", "body", "note"),
    [
        ("gzip", gzip.compress(QUESTION)[:-3], "coding_cut: reply body, gzip"),
        ("gzip", b"no gzip at all", "coding_broken: reply body, gzip"),
        ("rot13", QUESTION, "coding_unknown: reply body, rot13"),
    ],
)
def test_a_coding_that_cannot_be_undone_is_noted(coding, body, note):
    """With the direction in which it was."""
    raw = reply(body, f"Content-Encoding: {coding}")
    _sealed, notes = Taping().asked(request(b"")).answered(raw).seal()

    assert [text[: len(note)] for text in notes] == [note]


def test_a_body_beyond_the_bound_is_not_kept():
    """Only its first bytes, for the choice of a listener; the note says so once."""
    raw = request(b"q" * 9_000)
    taping = Taping(bound=5_000).asked(raw[:6_000], raw[6_000:8_000], raw[8_000:])
    sealed, notes = taping.answered(reply(b"hi")).seal()

    assert (sealed.request.method, sealed.request_body) == ("POST", b"")
    assert sealed.heard.asked[1] == b"q" * START_BYTES
    assert (notes, sealed.left_out_bytes) == (["content_left_out: request"], 9_000)
    assert len(taping.tape._body) == START_BYTES


@pytest.mark.parametrize("gap", [0, 1, 2])
def test_a_request_with_a_gap_has_no_body(gap):
    """Nothing behind missing bytes can be read; times and the reply stay."""
    raw = request(QUESTION)
    pieces = [raw[:-8], raw[-8:-4], raw[-4:]]
    pieces[gap] = len(pieces[gap])
    taping = Taping().asked(*pieces).mark(Mark.REQUEST_END).answered(reply(b"hi"))
    sealed, notes = taping.seal()

    assert (sealed.request_body, sealed.request_end_ns, sealed.first_byte_ns) == (b"", 1_004, 1_005)
    assert (sealed.request is None, sealed.reply.status) == (gap == 0, 200)
    assert (sealed.heard is None, notes) == (gap == 0, ["content_left_out: request"])
    assert sealed.left_out_bytes == len(raw) - sum(len(p) for p in pieces[:gap])


@pytest.mark.parametrize("gap", [0, 1, 2])
def test_a_reply_with_a_gap_is_heard_up_to_it(gap):
    """First byte and end survive; content behind the gap is dropped even where it came."""
    body = [b"data: 1\n\n", b"data: 2\n\n"]
    pieces = [STREAM_HEAD, chunked(body[0])[:-5], chunked(body[1])]
    pieces[gap] = len(pieces[gap])
    sealed, notes = Taping().asked(request(QUESTION)).answered(*pieces).seal()

    assert (sealed.first_byte_ns, sealed.ended_ns, sealed.request_body) == (1_002, 1_005, QUESTION)
    assert (sealed.heard.content if sealed.heard else None) == (None, b"", body[0])[gap]
    assert (sealed.reply is None, notes) == (gap == 0, ["content_left_out: reply"])


def test_an_exchange_that_is_resumed_is_heard_from_the_middle():
    """What came before went with the recorder that died, the first byte's time too."""
    taping = Taping(request_bytes=300, reply_bytes=200).resumed().answered(b"5\r\nhello\r\n")
    sealed, notes = taping.mark(Mark.REPLY_END).seal()

    assert (sealed.request, sealed.reply, sealed.heard) == (None, None, None)
    assert (sealed.first_byte_ns, sealed.left_out_bytes) == (None, 300 + 200 + 10)
    assert [text.partition(":")[0] for text in notes] == [
        "resumed",
        "content_left_out",
        "content_left_out",
    ]


def test_a_reply_that_began_after_the_resumption_is_timed():
    """Its head and its first byte are known, though nobody can read it without the request."""
    sealed, notes = (
        Taping(request_bytes=300).resumed().asked(b"llo").answered(reply(b"hello")).seal()
    )

    assert (sealed.reply.status, sealed.first_byte_ns, sealed.reply_head_ns) == (200, 1_003, 1_003)
    assert (sealed.heard, sealed.left_out_bytes) == (None, 303)
    assert notes[1:] == ["content_left_out: request"]


def test_a_tunnel_hands_on_its_two_heads():
    """What the exchanges inside of it have from the one that opened it; without both heads, nothing."""
    switching = head("HTTP/1.1 101 Switching Protocols")
    taping = Taping().mark(Mark.CONNECTED, b"127.0.0.1:8000").asked(request(b""))
    assert taping.tape.handshake() is None

    there = taping.answered(switching).tape.handshake()
    assert (there.number, there.opening, there.opened_ns) == (1, opening(), 1_000)
    assert (there.request.method, there.reply.status) == ("POST", 101)
    assert (there.connected_ns, there.backend) == (1_001, "127.0.0.1:8000")
    assert Taping().answered(switching).tape.handshake() is None


@pytest.mark.parametrize(
    ("mark", "note"),
    [(Mark.UNFRAMED_REQUEST, "request_unframed: request"), (Mark.UNFRAMED_REPLY, "reply_unframed: reply"),
     (Mark.TUNNEL, "tunnel: reply")],
)  # fmt: skip
def test_what_the_relay_could_not_tell_apart_is_noted(mark, note):
    """The relay decides it, on the bytes themselves."""
    taping = Taping().asked(request(QUESTION)).mark(mark).asked(b"more").answered(STREAM)
    sealed, notes = taping.seal()

    assert notes == [note]
    assert sealed.request_body == (b"" if mark is Mark.UNFRAMED_REQUEST else QUESTION)
    assert (sealed.request.method, sealed.left_out_bytes) == ("POST", 0)


def test_the_first_mark_of_a_kind_counts():
    """And a mark that a later version made is passed over, as are frames of the run itself."""
    taping = Taping().mark(Mark.SENT).mark(Mark.SENT).mark(99).mark(Mark.CONNECTED)
    for kind in (Kind.OPEN, Kind.END, Kind.LOST, Kind.BYE):
        taping.tape.take(frame(kind, 1, 5_000, b"any"))
    sealed, notes = taping.seal()

    assert (sealed.sent_ns, sealed.connected_ns, sealed.backend, notes) == (1_001, 1_004, None, [])


@pytest.mark.parametrize(
    ("connected", "outcome", "reply_bytes", "lost"),
    [(900, Outcome.upstream_aborted, 0, True), (1_100, Outcome.upstream_aborted, 0, False),
     (None, Outcome.upstream_aborted, 0, False), (900, Outcome.upstream_aborted, 9, False),
     (900, Outcome.client_gone, 0, False)],
)  # fmt: skip
def test_a_request_lost_in_the_keep_alive_race_is_noted(connected, outcome, reply_bytes, lost):
    """The upstream closed a connection that it had answered on before, and said nothing to this one."""
    taping = Taping().asked(request(b""))
    if connected:
        taping.tape.take(frame(Kind.MARK, 1, connected, b"127.0.0.1:8000", Mark.CONNECTED))
    sealed, _notes = taping.seal(outcome, reply_bytes=reply_bytes)

    assert ("reused_connection" in [note.code for note in sealed.notes]) is lost
    assert all(isinstance(note, Note) for note in sealed.notes)
