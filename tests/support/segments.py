"""Segments of a journal as a test needs them: closed long ago, and as strange as lines can be."""

from __future__ import annotations

import os

from hypothesis import strategies as st

from proxy.journal.lines import encode
from proxy.journal.record import Prefix, Request, Tools
from tests.support.builders import AT_UNIX_NS, S, record, timings

SEGMENT = "2026-09-21-9-1.jsonl"
SETS = ("a" * 16, "b" * 16)

names = st.sampled_from(["qwen", "Qwen-Coder", "glm", "", "a\x00b", "mo\u0131del", "x" * 50])


def put(folder, *lines, name=SEGMENT):
    """A segment that nobody has written to for years."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(b"".join(lines))
    os.utime(path, (1, 1))
    return path


@st.composite
def journals(draw):
    """Records of any kind, in turns, with hidden ones, errors, calls and misses."""
    return [_one(draw, n) for n in draw(st.lists(st.integers(1, 40), unique=True, max_size=12))]


def _one(draw, n):
    pick = lambda *values: draw(st.sampled_from(values))  # noqa: E731 -- it reads as a word
    kind = pick("turn", "turn", "turn", "hidden", "not_generation")
    called = draw(st.lists(st.sampled_from(["f", "g", "\ud800"]), max_size=3))
    return record(
        id=f"20260921T000000-{pick('7', '8')}-{n}",
        at_unix_ns=AT_UNIX_NS + draw(st.integers(-30, 30)) * S,
        label=pick("", "home"),
        upstream=pick("http://a", "http://b"),
        peer=pick("10.0.0.1:5", "10.0.0.2:6", "[::1]:7"),
        client=draw(st.none() | names),
        thread=pick(None, "t1", "t2"),
        turn=f"turn-{n // 3}" if kind == "turn" else None,
        kind=kind,
        request=Request(method="POST", path="/v1", model=draw(st.none() | names)),
        model_served=draw(st.none() | names),
        tools=pick(None, Tools(set_hash=pick(*SETS), count=2, tokens=9, called=called)),
        timings=timings(
            first_token_ns=pick(None, 3 * S),
            end_ns=pick(0, -5, S, 7 * S, 2**63 - 1),
        ),
        prefix=pick(None, Prefix(cause=pick(None, "tools", "server"), lost=pick(None, 0, 9))),
        outcome=pick("complete", "client_gone"),
        generation=pick("complete", "incomplete", "none"),
        error_kind=pick(None, None, "http_error", "client_disconnect", "upstream_reset"),
        error_type=pick(None, "overloaded", "\x1b[31m"),
        error_detail=pick(None, "Connection refused"),
        status=pick(None, 200, 503),
    )


strange = st.sampled_from(
    [
        b"junk",
        b"",
        b"  ",
        b'{"v":9,"id":"later"}',
        b'{"v":1,"id":"r1-1","at',
        b"\xff\xfe",
        b'{"v":1,"a":"\xed\xa0\x80"}',
        b"null",
        b"[" * 2000,
        encode(record(id="z-1"))[:-40] + encode(record(id="z-2")).rstrip(),
        encode(record(id="z-3")).rstrip().replace(b'"id":"z-3"', b'"id":"z-9","id":"z-3"'),
        encode(record(id="z-4")).rstrip()[:-1] + b',"more":"\\ud800"}',
        encode(record(id="z-5")).rstrip()[:-1] + b',"more":"\xff"}',
        encode(record(id="z-6")).rstrip()[:-1] + b',"big":123456789012345678901234567890}',
    ]
)


@st.composite
def segments(draw):
    """Bytes of a segment: records, and lines that are none or that two readers would read apart."""
    lines = [encode(r).rstrip(b"\n") for r in draw(journals())] + draw(
        st.lists(strange, max_size=4)
    )
    end = draw(st.sampled_from([b"\n", b""]))
    return b"\n".join(draw(st.permutations(lines))) + end if lines else b""
