"""The console line: what a person sees as each exchange ends, honest about what is missing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from proxy.journal.console import fields, line, verdict
from proxy.journal.record import Counting, Request, UsageReport
from tests.support.builders import MS, S, output, part, parts, record, timings

AT = datetime(2026, 11, 30, 19, 22, 41, tzinfo=UTC)

EXACT = [
    part(name, tokens, source="server tokenizer")
    for name, tokens in (("tools", 6603), ("system", 1509), ("history", 1310), ("question", 37))
]

WAIT = {"first_token_ns": None, "first_visible_text_ns": None, "last_token_ns": None}


def shown(**changes):
    """The line of a record with these changes."""
    return line(record(**changes), AT)


def test_the_storyboards_line():
    """The field report's turn, counted by the server's tokenizer."""
    assert shown(parts=EXACT) == (
        "19:22:41 home  qwen-27b-int8  "
        "9,459 in (tools 6,603  system 1,509  history 1,310  question 37)  "
        "TTFT 6.08 s  377 out in 10.0 s, 37.7 tok/s  ok"
    )


def test_counts_of_our_own_carry_a_tilde():
    """A part that tiktoken counted is near the truth, a total that nobody billed is too."""
    found = shown(
        parts=parts(system=1509, tool_results=800, question=37, template=12),
        usage=UsageReport(),
        output=output(tokens=380, source="tiktoken o200k_base"),
    )
    assert found == (
        "19:22:41 home  qwen-27b-int8  "
        "~2,358 in (system ~1,509  results ~800  question ~37  template ~12)  "
        "TTFT 6.08 s  ~380 out in 10.0 s, 38.0 tok/s  ok"
    )


def test_roles_of_a_part_are_one_figure():
    """History of user and assistant is the history; media that were not counted show as such."""
    history = [part("history", 100, "user"), part("history", 50, "assistant")]
    found = shown(parts=[*history, part("media", None, source="not counted")])
    assert "(history ~150  media ?)" in found


def test_what_is_missing_is_shown_as_missing():
    """No count, no first token, no output: never a zero, never left away."""
    found = shown(
        parts=[],
        usage=UsageReport(),
        timings=timings(**WAIT),
        output=output(tokens=None, source="unknown"),
        request=Request(method="POST", path="/v1/chat/completions"),
        model_served=None,
    )
    assert found == "19:22:41 home  ?  ? in  TTFT -  ? out  ok"


def test_unknown_tokens_leave_the_time():
    """Without a number of tokens there is no speed, but the decoding took its time."""
    found = shown(output=output(tokens=None, source="unknown"))
    assert "  TTFT 6.08 s  ? out in 10.0 s  ok" in found


def test_an_answer_that_was_not_streamed_has_the_whole_turn():
    """Its first token was not seen: the time and the speed are those of the turn, and say so."""
    found = shown(timings=timings(**WAIT), output=output(events=None))
    assert "  TTFT -  377 out, whole turn 16.1 s, 23.4 tok/s  ok" in found


@pytest.mark.parametrize(
    ("ns", "expected"),
    [(4 * MS, "0.00 s"), (9_994 * MS, "9.99 s"), (9_996 * MS, "10.0 s"), (128 * S, "128 s")],
)
def test_seconds_have_the_digits_that_matter(ns, expected):
    """Hundredths below ten seconds, tenths below a hundred."""
    found = shown(timings=timings(request_end_ns=0, first_token_ns=ns, end_ns=200 * S))
    assert f"  TTFT {expected}  " in found


def test_what_asks_no_model_is_a_short_line():
    """Method, path, status and time."""
    models = Request(method="GET", path="/v1/models")
    found = shown(
        kind="not_generation", generation="none", request=models, timings=timings(end_ns=S)
    )
    assert found == "19:22:41 home  GET /v1/models 200  1.00 s  ok"


def test_an_unreadable_request_has_a_line_too():
    """Nothing is known of it but that it was there."""
    found = shown(
        kind="not_generation",
        generation="none",
        label="",
        request=Request(method=None, path=None),
        status=None,
        timings=timings(end_ns=20 * MS),
    )
    assert found == "19:22:41 127.0.0.1:8080  ? -  0.02 s  ok"


def test_hidden_requests_are_shown_as_turns():
    """A title request asks a model too."""
    assert "TTFT" in shown(kind="hidden")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"error_kind": "http_error", "status": 429}, "http 429"),
        (
            {"error_kind": "http_error", "status": 429, "error_type": "rate_limit_error"},
            "http 429 rate_limit_error",
        ),
        (
            {"error_kind": "error_event", "error_type": "overloaded_error"},
            "error in the stream overloaded_error",
        ),
        ({"error_kind": "incomplete_stream"}, "cut: no terminal event"),
        ({"error_kind": "upstream_reset"}, "upstream broke off"),
        (
            {"error_kind": "upstream_unreachable", "error_detail": "Connection refused"},
            "upstream unreachable: Connection refused",
        ),
        ({"error_kind": "upstream_timeout"}, "upstream timed out"),
        ({"error_kind": "client_disconnect"}, "caller left"),
        ({"error_kind": "proxy", "outcome": "shutdown"}, "stopped here"),
        ({"error_kind": "proxy", "outcome": "proxy_killed"}, "proxy died"),
        (
            {"error_kind": "proxy", "outcome": "proxy_error", "error_detail": "ValueError"},
            "fault of this proxy: ValueError",
        ),
        ({"error_kind": None, "generation": "unknown"}, "not read to the end"),
        ({"error_kind": None}, "ok"),
    ],
)
def test_the_verdict_names_whose_fault_it_was(changes, expected):
    """In a few words, with the system's or the upstream's own where there are any."""
    found = record(**changes)
    assert verdict(found) == expected
    assert line(found, AT).endswith(f"  {expected}")


def test_others_text_cannot_reach_the_terminal():
    """Control characters of a name or an error are not obeyed, and an endless one is cut."""
    found = shown(
        label="a\x1b[2Jb\nc",
        request=Request(method="POST", path="/", model="m" * 500),
        error_kind="upstream_unreachable",
        error_detail="\r" + "x" * 500,
    )
    assert found.isprintable()
    assert "a?[2Jb?c" in found
    assert "  " + "m" * 57 + "...  " in found
    assert len(found) < 400


def test_fields_are_flat_and_named_as_in_the_journal():
    """For a structured log: no units to convert, nothing to look up, null where nothing is known."""
    found = fields(record(counting=Counting(counted=9_400), parts=EXACT))
    assert found == {
        "id": "r1-1",
        "label": "home",
        "route": "127.0.0.1:8080",
        "kind": "turn",
        "dialect": "openai_chat",
        "method": "POST",
        "path": "/v1/chat/completions",
        "model": "qwen-27b-int8",
        "status": 200,
        "outcome": "complete",
        "generation": "complete",
        "error_kind": None,
        "error_type": None,
        "error_detail": None,
        "input_tokens": 9459,
        "input_tokens_counted": 9400,
        "cached_tokens": None,
        "tools_tokens": 6603,
        "system_tokens": 1509,
        "history_tokens": 1310,
        "question_tokens": 37,
        "output_tokens": 377,
        "output_tokens_source": "usage",
        "ttft_ns": 6_084 * MS,
        "end_ns": 16_089 * MS,
        "client_tokens_per_s": 37.7,
    }


def test_fields_of_what_was_not_seen_are_null():
    """Null is not zero."""
    found = fields(record(timings=timings(**WAIT), usage=UsageReport(), parts=[]))
    assert found["ttft_ns"] is None
    assert found["input_tokens"] is None
    assert found["client_tokens_per_s"] is None
    assert "tools_tokens" not in found
