"""Exchanges of the corpus, damaged, through tape, dialect and derivation: each gives one sound record.

One rule: nothing here knows what the damaged exchange means. What must hold is what holds for every
record: it can be written and read, its times are in order, it is short, and no cut changes it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.table import choose
from proxy.journal.derive import Context, derive, understand
from proxy.journal.lines import encode, read_lines
from proxy.journal.record import Load
from proxy.wire.exchange import Ending, Opening
from proxy.wire.frame import Kind
from proxy.wire.framing import ReplyFraming, RequestFraming, Stage
from proxy.wire.tape import START_BYTES, Tape
from tests.support.bodies import chunk
from tests.support.builders import counter
from tests.support.corpus import cases
from tests.support.cuts import at_random, whole
from tests.support.damage import damaged, examples, hostile_events, hostile_json

if TYPE_CHECKING:
    from proxy.journal.derive import Derived

CASES = cases()
DIALECTS = sorted({case.name.partition("/")[0] for case in CASES})
OF = {name: [case for case in CASES if case.name.startswith(f"{name}/")] for name in DIALECTS}

LONGEST_LINE = 512 * 1024
"""Bytes. A path and each name are bounded, so the line is; most have 2,000."""

SEEDS = st.integers(0, 2**32)
unhurried = examples(0.5)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def derived(case, cut=whole, count=None) -> Derived:
    """What the recorder makes of the case's frames."""
    opened, *frames = case.frames(cut)
    tape = Tape(
        1,
        Opening.decode(opened.data),
        opened.at_ns,
        lambda request, start, reply: choose(request, start).reply_reader(request, reply),
    )
    *inner, end = frames
    for frame in inner:
        tape.take(frame)
    assert end.kind is Kind.END
    exchange = tape.seal(Ending.decode(end.data), end.at_ns)
    request = exchange.request
    dialect = choose(request, exchange.request_body[:START_BYTES]) if request else None
    understood = understand(exchange, dialect or choose(NOBODY, b""))
    return derive(exchange, understood, Context("run", Load(), counter=count))


NOBODY = RequestFraming()
NOBODY.feed(b"GET / HTTP/1.1\r\n\r\n", 0)
NOBODY = NOBODY.head


def check(case, seed):
    """What holds for every exchange."""
    found = derived(case, count=counter())
    line = encode(found.record)
    assert list(read_lines([line])) == [found.record]
    assert len(line) <= LONGEST_LINE
    assert len(found.record.notes) <= 32
    if found.tool_set is not None:
        assert encode(found.tool_set).count(b"\n") == 1
    in_order(found.record)
    if b"content-encoding" not in (case.request + b"".join(d for _, d in case.reply)).lower():
        longest = 30 + sum(len(data) for _, data in case.reply) // 300
        assert derived(case, lambda data: at_random(data, seed, longest), counter()) == found


def in_order(record):
    """Marks follow each other as their names say, and counts are none below zero."""
    at = record.timings
    inner = (at.first_reasoning_ns, at.first_visible_text_ns, at.first_tool_call_ns)
    for chain in (
        (0, at.request_head_ns, at.end_ns),
        (at.response_head_ns, at.first_event_ns, at.first_token_ns, at.last_token_ns, at.end_ns),
        *((at.first_token_ns, mark, at.last_token_ns) for mark in inner),
        (at.first_event_ns, at.terminal_event_ns, at.end_ns),
    ):
        known = [mark for mark in chain if mark is not None]
        assert known == sorted(known)
    usage = record.usage
    counts = (usage.input, usage.output, usage.cached, record.output.tokens, record.output.events)
    assert all(count is None or count >= 0 for count in counts)


@every_dialect
@unhurried
@given(which=SEEDS, other=SEEDS, seed=SEEDS, side=st.sampled_from(["request", "reply", "both"]))
def test_any_damage_on_the_wire_leaves_one_record(dialect, which, other, seed, side):
    """Bits, pieces and splices of another exchange's, in heads, framing, codings and content."""
    case = OF[dialect][which % len(OF[dialect])]
    from_ = CASES[other % len(CASES)]
    if side != "reply":
        case = replace(case, request=damaged(case.request, seed, from_.request))
    if side != "request" and case.reply:
        reads = [[at, data] for at, data in case.reply]
        hit = reads[seed % len(reads)]
        hit[1] = damaged(hit[1], seed + 1, b"".join(data for _, data in from_.reply))
        case = replace(case, reply=tuple((at, data) for at, data in reads))

    check(case, seed)


@every_dialect
@unhurried
@given(which=SEEDS, seed=SEEDS)
def test_any_json_in_any_field_leaves_one_record(dialect, which, seed):
    """Well framed, so that it is read: wrong types, depths, numbers, halves of pairs, no JSON at all."""
    case = OF[dialect][which % len(OF[dialect])]

    check(hostile(case, seed), seed)


def hostile(case, seed):
    """The case with hostile values in its request and its reply, if those are not compressed."""
    head, _, body = case.request.partition(b"\r\n\r\n")
    if b"content-encoding" not in head.lower() and body:
        body = hostile_json(body, seed)
        head = re.sub(rb"(?i)(content-length: )\d+", rb"\g<1>%d" % len(body), head)
        case = replace(case, request=head + b"\r\n\r\n" + body)
    reads, framing = [], ReplyFraming("POST")
    for number, (at_ns, data) in enumerate(case.reply):
        content = content_of(framing, data)
        reads.append((at_ns, hostile_events(content, seed + number)))
    raw = bytes(framing.raw_head)
    if framing.head is None or b"content-encoding" in raw.lower():
        return case
    start = re.sub(rb"(?i)(content-length|transfer-encoding):[^\r\n]*\r\n", b"", raw)
    start = start.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    coded = [(at_ns, chunk(content)) for at_ns, content in reads if content]
    last = (case.reply[-1][0], b"0\r\n\r\n")
    return replace(case, reply=((case.reply[0][0], start), *coded, last))


def content_of(framing, data):
    """The content in one read of a reply."""
    position, spans = 0, []
    while position < len(data) and framing.stage in (Stage.HEAD, Stage.BODY):
        position = framing.feed(data, position, spans)
    return b"".join(data[start:end] for start, end in spans)


def test_the_undamaged_pass_the_same_check():
    """Else what is checked would be checked of nothing."""
    for case in CASES:
        check(case, 1)
