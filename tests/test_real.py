"""The whole program against llama.cpp's real server: started, used through the OpenAI SDK, stopped, read.

One conversation is held once, through the installed command; each test looks at what the client saw, at
the record of it, or at the report that the other command gives.
"""

from __future__ import annotations

import statistics

import orjson
import pytest

from demo import chat
from demo.proxied import recording, wait_for_record
from tests.support.conversation import KEY, REQUESTS, ROUNDS, WORD, hold

pytest_plugins = ("tests.support.real_server",)
pytestmark = pytest.mark.real

CLOSE_NS = 5_000_000
"""How far the proxy's stamps may be from the client's: two processes, one of them busy with JSON."""
BUSY_NS = 30_000_000
"""The same where a busy machine lets the client wait."""
PREFILL_REST_NS = 250_000_000
"""What may lie between the server's prefill and its first token at the proxy, on a busy machine."""


STREAMED = [name for name in REQUESTS if name.startswith(("stream", "tools"))]


@pytest.fixture(scope="module")
def talk(tiny_server, tmp_path_factory):
    """The one conversation that most of these tests look at."""
    return hold(tiny_server, tmp_path_factory.mktemp("talk"))


@pytest.mark.parametrize("name", [*STREAMED, "whole"])
def test_the_record_has_the_usage_that_the_client_was_told(talk, name):
    """Prompt, output and cached tokens in the record are those of the SDK's usage object."""
    usage, record = talk.seen[name].usage, talk.records[name]

    assert record["dialect"] == "openai_chat"
    assert record["kind"] == "turn"
    assert record["usage"]["input"] == usage.prompt_tokens
    assert record["usage"]["output"] == usage.completion_tokens
    assert record["usage"]["cached"] == usage.prompt_tokens_details.cached_tokens
    assert (record["output"]["tokens"], record["output"]["source"]) == (
        usage.completion_tokens,
        "usage",
    )
    assert (record["outcome"], record["generation"], record["status"]) == (
        "complete",
        "complete",
        200,
    )


@pytest.mark.parametrize("name", [*STREAMED, "whole"])
def test_the_parts_of_the_prompt_add_up_to_the_bill(talk, name):
    """System, tools, question and the template's own tokens are together what the server counted."""
    record = talk.records[name]

    assert sum(part["tokens"] for part in record["parts"]) == record["usage"]["input"]


def test_the_first_token_is_stamped_when_the_client_gets_it(talk):
    """The moment of the first token and TTFT agree with the client's own clock within 5 ms.

    The client is never earlier than the proxy. It is later by what it does itself, and by its wait for
    a turn on two cores: the least of a few is free of that, the median nearly so.
    """
    late, longer = [], []
    for name in STREAMED[:ROUNDS]:
        seen, record = talk.seen[name], talk.records[name]
        marks = record["timings"]
        late.append(seen.first_unix_ns - record["at_unix_ns"] - marks["first_token_ns"])
        ttft_ns = marks["first_token_ns"] - marks["request_end_ns"]
        longer.append(seen.first_unix_ns - seen.sent_unix_ns - ttft_ns)

    assert 0 <= min(late) <= CLOSE_NS, late
    assert 0 <= min(longer) <= CLOSE_NS, longer
    assert statistics.median(late) <= BUSY_NS, late
    assert statistics.median(longer) <= BUSY_NS, longer


@pytest.mark.parametrize("name", STREAMED)
def test_the_marks_of_a_stream_are_in_order(talk, name):
    """Each mark that a stream has comes after the one before it; the opener is no token."""
    marks = talk.records[name]["timings"]
    order = [
        "request_head_ns",
        "request_end_ns",
        "response_head_ns",
        "first_byte_ns",
        "first_event_ns",
        "first_token_ns",
        "last_token_ns",
        "terminal_event_ns",
        "end_ns",
    ]

    stamps = [marks[mark] for mark in order]

    assert stamps == sorted(stamps)
    assert marks["first_visible_text_ns"] == marks["first_token_ns"]


def test_an_answer_in_one_piece_has_no_first_token(talk):
    """What is not streamed has a first byte and an end, and no time of a token."""
    record = talk.records["whole"]

    assert record["request"]["stream"] is not True
    assert record["timings"]["first_token_ns"] is None
    assert record["timings"]["first_byte_ns"] > record["timings"]["request_end_ns"]


def test_the_servers_own_figures_are_kept_under_its_own_names(talk):
    """llama.cpp's timings are in the record, and they add up to its bill."""
    record = talk.records["tools again"]
    reported = record["reported"]

    assert reported["prompt_n"] + reported["cache_n"] == record["usage"]["input"]
    assert reported["predicted_n"] == record["usage"]["output"]
    assert reported["prompt_ms"] > 0


def test_the_tools_are_counted_one_by_one(talk):
    """Nine definitions are nine entries, most of the prompt, and from the cache the second time."""
    record, again = talk.records["tools"], talk.records["tools again"]
    tools = {tool["function"]["name"] for tool in chat.tools()}
    entries = orjson.loads(talk.files[f"tools-{record['tools']['set_hash']}.json"])["tools"]

    assert {entry["name"] for entry in entries} == tools
    assert record["tools"]["count"] == 9
    assert record["tools"]["tokens"] > 0.9 * record["usage"]["input"]
    assert record["usage"]["cached"] < 50
    assert again["usage"]["cached"] > 0.9 * again["usage"]["input"]
    assert again["tools"]["set_hash"] == record["tools"]["set_hash"]


def test_a_client_that_leaves_is_on_record(talk):
    """An answer that its client did not wait for ends as client_gone, with what came until then."""
    record = talk.records["left"]

    assert (record["outcome"], record["generation"]) == ("client_gone", "incomplete")
    assert record["error_kind"] == "client_disconnect"
    assert record["timings"]["first_token_ns"] is not None
    assert record["usage"]["input"] is None
    assert record["timings"]["terminal_event_ns"] is None


def test_a_refusal_is_no_turn_that_was_answered(talk):
    """The server's 400 is passed on and recorded as what it is."""
    record = talk.records["refused"]

    assert (record["status"], record["outcome"]) == (400, "complete")
    assert (record["generation"], record["error_kind"]) == ("none", "http_error")


def test_a_list_of_models_is_no_generation(talk, tiny_server):
    """Asking for the models works through the proxy and is kept apart from turns."""
    record = talk.records["models"]

    assert talk.seen["models"].models == [tiny_server.model]
    assert record["kind"] == "not_generation"
    assert record["request"]["path"] == "/v1/models"


def test_nothing_that_was_said_is_written_anywhere(talk):
    """No word of a prompt or an answer and no key is in the journal or on the console."""
    written = b"\n".join(talk.files.values()).decode("utf-8", "replace")
    answers = {word for seen in talk.seen.values() for word in seen.text.split() if len(word) > 12}

    assert len(answers) > 5
    assert KEY not in written
    assert WORD not in written
    assert not {word for word in answers if word in written}


def test_the_report_counts_what_was_recorded(talk):
    """Each exchange is counted once, as what it was, and nothing is lost or unreadable."""
    census = talk.report["census"]

    assert talk.report["schema"].startswith("turnscope.report/")
    assert census["exchanges"] == len(REQUESTS)
    assert census["standings"] == {
        "turn": ROUNDS + 3,
        "hidden": 0,
        "not_generation": 1,
        "cut": 1,
        "error": 1,
    }
    assert (census["lost_exchanges"], census["exchanges_without_record"]) == (0, 0)
    assert census["unreadable_pieces"] == 0


def test_the_reports_budget_adds_up(talk):
    """The segments of the median turn are that turn's whole time, to the nanosecond."""
    turn = talk.report["median_turn"]

    assert sum(segment["duration_ns"] for segment in turn["segments"]) == turn["whole_ns"]
    assert all(segment["duration_ns"] >= 0 for segment in turn["segments"])


def test_the_report_names_the_tools_that_were_never_called(talk):
    """Nine tools were offered twice and never called; most of that prompt is theirs."""
    tools = talk.report["tools"]
    parts = {part["part"]: part for part in talk.report["prompt"]["parts"]}

    assert (tools["never_called_tools"], tools["offering_answers"]) == (9, 2)
    assert parts["tools"]["share"] > 0.9
    assert parts["tools"]["cold_ns"] > parts["tools"]["as_lived_ns"] > 0


def test_real_words_end_by_themselves_and_wait_for_the_prefill(smollm2_server, tmp_path):
    """SmolLM2 answers in English and stops; TTFT is the prefill that it reports, and little more."""
    question = chat.Question(
        "short", "What is a rainbow? Answer in one sentence.", with_tools=False
    )
    journal, log = tmp_path / "journal", tmp_path / "proxy.log"
    with (
        recording(smollm2_server.url, journal, log) as url,
        chat.client(url) as client,
    ):
        chat.models(client)
        wait_for_record(journal, log)
        answer = chat.ask(client, smollm2_server.model, question)
    segment = next(journal.glob("*.jsonl")).read_bytes()
    record = orjson.loads(segment.splitlines()[-1])
    marks = record["timings"]
    ttft_ns = marks["first_token_ns"] - marks["request_end_ns"]

    assert "rainbow" in answer.text
    assert (record["output"]["finish_reason"], record["generation"]) == ("stop", "complete")
    assert 0 <= ttft_ns - record["reported"]["prompt_ms"] * 1e6 <= PREFILL_REST_NS
