"""From exchange and reading to record: what was observed stands there, what was not is null."""

from __future__ import annotations

from typing import get_args

import pytest

from proxy.dialects.base import PromptPart, RequestReading, Usage
from proxy.journal.derive import Context, Understood, derive
from proxy.journal.lines import encode
from proxy.journal.record import Load, OutcomeName, Self
from proxy.journal.tokens import Counter
from proxy.wire.exchange import Note, Outcome
from proxy.wire.head import ReplyHead, RequestHead
from tests.support.builders import (
    OPENED_NS,
    S,
    asked,
    counter,
    ending,
    exchange,
    opening,
    request_head,
    said,
    timings,
    words,
)

LOAD = Load(in_flight_at_arrival=2, in_flight_mean=1.5, in_flight_peak=3)
UNSAID = {"usage": Usage(), "output_source": None}
UNREAD = (Note("content_left_out", "reply"),)
SECRET = "sk-test-0123456789"


def derived(reading=None, wanted=None, *, counts=None, **changes):
    """All that is derived from the default turn with these changes."""
    understood = Understood("openai_chat", wanted or asked(), reading or said())
    return derive(exchange(**changes), understood, Context("r1", LOAD, counts or counter()))


def of(*arguments, **changes):
    """The record of it."""
    return derived(*arguments, **changes).record


def test_the_default_turn():
    """Who talked to whom, what was asked, how it ended: from the exchange and the two readings."""
    found = of()
    assert found.id == "r1-1"
    assert found.v == 1
    assert found.at_unix_ns == opening().at_unix_ns
    assert found.route == "127.0.0.1:8080"
    assert found.label == "home"
    assert found.upstream == "http://127.0.0.1:8000"
    assert found.backend == "127.0.0.1:8000"
    assert found.peer == "127.0.0.1:50000"
    assert found.client == "chat-client/1.0"
    assert found.kind == "turn"
    assert found.dialect == "openai_chat"
    assert found.load == LOAD
    assert found.self == Self(first_ns=90_000, worst_ns=400_000, lateness_ns=300_000)
    assert (found.outcome, found.generation, found.error_kind) == ("complete", "complete", None)
    assert (found.status, found.reply_bytes) == (200, 60_000)
    assert found.model_served == "qwen-27b-int8"
    assert found.notes == []


def test_marks_are_offsets_from_the_first_request_byte():
    """Each mark of the exchange and of the reading lands in its own field."""
    assert timings() == of().timings


def test_a_reused_connection_was_ready_before():
    """The offset is negative, and there was no dial."""
    found = of(dial_ns=None, connected_ns=OPENED_NS - 3 * S).timings
    assert found.upstream_dial_ns is None
    assert found.upstream_connected_ns == -3 * S


def test_what_did_not_happen_is_null():
    """Without a reply there are no marks of one, no status, no output and no bill."""
    nobody = {
        "reply": None,
        "reply_head_ns": None,
        "first_byte_ns": None,
        "connected_ns": None,
        "sent_ns": None,
        "backend": None,
        "ending": ending(Outcome.upstream_unreachable, detail="Connection refused"),
    }
    understood = Understood("openai_chat", asked(PromptPart("question", "user", "hi")), None)
    found = derive(exchange(**nobody), understood, Context("r1", LOAD, counter())).record
    assert found.timings == timings(
        upstream_connected_ns=None,
        upstream_sent_ns=None,
        response_head_ns=None,
        first_byte_ns=None,
        first_event_ns=None,
        first_token_ns=None,
        first_visible_text_ns=None,
        last_token_ns=None,
        terminal_event_ns=None,
    )
    assert found.status is None
    assert found.backend is None
    assert found.usage.input is None
    assert (found.output.tokens, found.output.source) == (None, "unknown")
    assert found.output.events is None
    assert (found.generation, found.error_kind) == ("none", "upstream_unreachable")
    assert found.error_detail == "Connection refused"
    assert [p.tokens for p in found.parts] == [1, 7]


def test_an_unreadable_request_is_no_generation():
    """Without a request head there is no method and no path, and no model was asked."""
    understood = Understood("opaque", RequestReading(generation=False), None)
    bare = exchange(request=None, request_head_ns=None, request_end_ns=None, reply=None)
    found = derive(bare, understood, Context("r1", LOAD, counter())).record
    assert found.kind == "not_generation"
    assert (found.request.method, found.request.path) == (None, None)
    assert found.client is None
    assert found.generation == "none"
    assert found.timings.request_end_ns is None


def test_the_request_as_it_was_asked():
    """Model, streaming, limits and sampling as sent; bytes as they came."""
    sampling = {"temperature": 0.7, "seed": 7, "ignore_eos": True, "stop": "END"}
    found = of(None, asked(max_tokens=512, sampling=sampling)).request
    assert found.method == "POST"
    assert found.path == "/v1/chat/completions"
    assert found.model == "qwen-27b-int8"
    assert found.stream is True
    assert found.bytes == 48_000
    assert found.max_tokens == 512
    assert found.sampling == sampling


def test_a_query_may_hold_a_key_and_is_not_kept():
    """Google's API takes the key in the query."""
    head = request_head(f"/v1beta/models/m:generateContent?key={SECRET}&alt=sse")
    assert of(request=head).request.path == "/v1beta/models/m:generateContent"


def test_no_header_is_kept_but_the_product_of_the_client():
    """A credential in a header, in the user agent's comment too, is nowhere in the line."""
    head = request_head(
        authorization=f"Bearer {SECRET}",
        x_api_key=SECRET,
        cookie=SECRET,
        user_agent=f"agent/1.2 ({SECRET})",
    )
    found = of(request=head)
    assert found.client == "agent/1.2"
    assert SECRET.encode() not in encode(found)


def test_the_bill_as_the_server_wrote_it():
    """Each count in its own field; what was not said is null and what is zero is zero."""
    found = of(said(usage=Usage(input=9, output=8, cached=0, reasoning=3))).usage
    assert (found.input, found.output, found.reasoning) == (9, 8, 3)
    assert found.cached == 0
    assert found.cache_write is None


def test_an_answer_is_counted_by_the_tokenizer_of_its_model():
    """Without a bill the same tokenizer counts prompt and answer."""
    found = of(said(**UNSAID, text="five words in this answer"), asked(model="gpt-4")).output
    assert (found.tokens, found.source) == (5, "tiktoken cl100k_base")


def test_the_servers_own_figures_are_not_merged_with_ours():
    """They stand under the server's names in a field of their own."""
    assert of(said(reported={"prompt_ms": 12.5})).reported == {"prompt_ms": 12.5}


def test_what_came_after_a_gap_is_not_known():
    """The first token was seen, the last one cannot be told: null rather than wrong."""
    cut = said(terminal_event_ns=None, finish_reason=None, **UNSAID)
    found = of(cut, notes=UNREAD, left_out_bytes=4096)
    assert found.timings.first_token_ns == timings().first_token_ns
    assert found.timings.last_token_ns is None
    assert found.timings.end_ns == timings().end_ns
    assert found.output.events is None
    assert found.output.gap_max_ns is None
    assert found.generation == "unknown"
    assert found.self.left_out_bytes == 4096
    assert found.notes == ["content_left_out: reply"]


def test_the_prompt_is_composed_and_fitted_to_the_bill():
    """Parts, tools and counting come from the composition; called tools from the answer."""
    parts = (
        PromptPart("tools", "tool", words(600), "search"),
        PromptPart("tools", "tool", words(200), "mcp__docs__read"),
        PromptPart("question", "user", words(200)),
    )
    found = derived(said(usage=Usage(input=1119), called=("search", "search")), asked(*parts))
    record = found.record
    assert [(p.part, p.tokens) for p in record.parts] == [
        ("tools", 892),
        ("question", 220),
        ("template", 7),
    ]
    assert record.counting.scale == pytest.approx(1.1)
    assert record.tools.count == 2
    assert record.tools.tokens == 892
    assert record.tools.called == ["search", "search"]
    assert found.tool_set.set_hash == record.tools.set_hash
    assert [t.tokens for t in found.tool_set.tools] == [600, 200]


def test_without_tools_there_is_no_set():
    """Null, also where a server's own tools were called."""
    found = derived(said(called=("web_search",)))
    assert found.record.tools is None
    assert found.tool_set is None


def test_counting_may_be_off():
    """Without a counter all else is there, and parts have null tokens."""
    understood = Understood("openai_chat", asked(PromptPart("question", "user", "hi")), said())
    found = derive(exchange(), understood, Context("r1", LOAD, None)).record
    assert [(p.tokens, p.source) for p in found.parts] == [(None, "not counted")]
    assert found.output.tokens == 377
    assert found.counting.billed == 9459


def test_no_encoder_is_loaded_for_what_asks_no_model():
    """A health check does not cost the seconds of loading one."""
    loads = []
    of(None, asked(generation=False), counts=Counter(loads.append))
    assert loads == []


def test_the_model_served_names_the_tokenizer_where_none_was_asked_for():
    """Some clients leave the model to the server."""
    loads = []
    of(said(model="gpt-4"), asked(model=None), counts=Counter(loads.append))
    assert loads == ["cl100k_base"]


def test_names_of_others_are_bounded():
    """A model, a tool, an error as long as a book does not make a line as long as one."""
    book = "x" * 100_000
    parts = (PromptPart("tools", "tool", "{}", "search"),)
    found = of(
        said(model=book, called=(book,), error_type=book, finish_reason=book),
        asked(*parts, model=book, sampling={"stop": book}),
        ending=ending(detail=book),
        request=RequestHead(book, "/", (1, 1), ()),
    )
    assert len(encode(found)) < 5_000


def test_notes_of_all_readers_stand_together_once():
    """Transport, request, reply, composition; the same note twice is one."""
    tape = Note("coding_cut", "reply body", "gzip")
    found = of(
        said(notes=(Note("b"), Note("a")), usage=Usage(input=5)),
        asked(PromptPart("question", "user", words(900)), notes=(Note("a"),)),
        notes=(tape,),
    )
    mismatch = "count_mismatch: prompt, 5 billed, 900 counted"
    assert found.notes == ["coding_cut: reply body, gzip", "a", "b", mismatch]


def test_errors_are_named_in_the_upstreams_words():
    """Status, kind and the upstream's own name; nothing was generated."""
    body = said(
        streamed=False, error_type="rate_limit_error", **UNSAID, text="", finish_reason=None
    )
    found = of(body, reply=ReplyHead(429, (1, 1), ()))
    assert (found.status, found.generation) == (429, "none")
    assert (found.error_kind, found.error_type) == ("http_error", "rate_limit_error")
    assert found.error_detail is None


def test_every_outcome_has_a_name_in_the_schema():
    """The journal's closed list of outcomes is the relay's."""
    assert set(get_args(OutcomeName)) == {outcome.name for outcome in Outcome}
    for outcome in Outcome:
        assert of(ending=ending(outcome)).outcome == outcome.name


def test_what_answered_is_named():
    """By its header and its fingerprint; null where it says nothing, or nothing came."""
    reply = ReplyHead(200, (1, 1), (("Server", "llama.cpp"),))
    found = derived(said(fingerprint="b11549"), reply=reply).record
    assert ("llama.cpp", "b11549") == (found.server, found.fingerprint)
    found = derived(said(), reply=None).record
    assert (None, None) == (found.server, found.fingerprint)
