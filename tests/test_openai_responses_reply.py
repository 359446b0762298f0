"""Replies of the Responses API: what is output, once, and what ends it."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.openai_responses import OpenAiResponses
from proxy.dialects.openai_responses_socket import Said, lane_asked, said
from proxy.wire.head import ReplyHead, RequestHead


def reply_reader(status=200):
    """A reader of a reply."""
    head = RequestHead("POST", "/v1/responses", (1, 1), ())
    return OpenAiResponses().reply_reader(head, ReplyHead(status, (1, 1), ()))


def hear(*events):
    """The reading of a stream of these objects, 1 ns apart."""
    reader = reply_reader()
    for at, event in enumerate(events, start=1):
        reader.feed(b"data: " + orjson.dumps(event) + b"\n\n", at)
    reader.close()
    return reader.reading()


DELTAS = [
    ("response.output_text.delta", "first_visible_text_ns"),
    ("response.audio.transcript.delta", "first_visible_text_ns"),
    ("response.refusal.delta", "first_visible_text_ns"),
    ("response.reasoning_text.delta", "first_reasoning_ns"),
    ("response.reasoning.delta", "first_reasoning_ns"),
    ("response.reasoning_summary_text.delta", "first_reasoning_ns"),
    ("response.function_call_arguments.delta", "first_tool_call_ns"),
    ("response.custom_tool_call_input.delta", "first_tool_call_ns"),
    ("response.mcp_call_arguments.delta", "first_tool_call_ns"),
    ("response.mcp_call.arguments_delta", "first_tool_call_ns"),
    ("response.code_interpreter_call_code.delta", "first_tool_call_ns"),
    ("response.shell_call_command.delta", "first_tool_call_ns"),
]


@pytest.mark.parametrize(("kind", "mark"), DELTAS)
def test_each_delta_is_output_of_its_channel(kind, mark):
    """And nothing else of it is; an empty one is none."""
    reading = hear({"type": kind, "delta": ""}, {"type": kind, "delta": "x"})

    assert (reading.first_token_ns, getattr(reading, mark), reading.text) == (2, 2, "x")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.created", "response": {"id": "r", "usage": None}},
        {"type": "response.queued", "response": {"id": "r"}},
        {"type": "response.output_item.added", "item": {"type": "message", "content": []}},
        {"type": "response.output_item.added", "item": {"type": "reasoning"}},
        {"type": "response.output_item.added", "item": {"type": "mcp_list_tools", "name": "x"}},
        {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}},
        {"type": "response.output_text.done", "text": "x"},
        {"type": "response.function_call_arguments.done", "arguments": "x"},
        {"type": "response.reasoning_summary_text.done", "text": "x"},
        {"type": "response.shell_call_output_content.delta", "delta": {"stdout": "x"}},
        {"type": "response.image_generation_call.partial_image", "partial_image_b64": "QUJD"},
        {"type": "codex.rate_limits"},
        {"type": "keepalive"},
        {"type": "response.audio.delta", "delta": "QUJD"},
        {},
    ],
)
def test_what_is_no_output(event):
    """It moves no token's time."""
    reading = hear(event)

    assert (reading.first_token_ns, reading.text, reading.called) == (None, "", ())
    assert (reading.first_event_ns, reading.terminal_event_ns) == (1, None)


def test_audio_is_noted():
    """Only its transcript is text."""
    assert [n.code for n in hear({"type": "response.audio.delta", "delta": "QUJD"}).notes] == [
        "audio_output"
    ]


def test_an_item_is_known_by_its_place_or_its_id():
    """Servers leave out one or the other, and neither makes it count twice."""
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}
    by_id = hear(
        {"type": "response.output_item.added", "item": item | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": "{}"},
        {"type": "response.output_item.done", "item": item},
    )
    by_place = hear(
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "name": "f"}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    )  # fmt: skip

    for reading in (by_id, by_place):
        assert (reading.called, reading.text, reading.token_event_ns) == (("f",), "f{}", (1, 2))


def test_two_calls_of_one_name_are_two():
    """Each item is one."""
    call = {"type": "function_call", "name": "f", "arguments": "{}"}

    reading = hear(
        {"type": "response.output_item.done", "item": call | {"call_id": "1"}},
        {"type": "response.output_item.done", "item": call | {"call_id": "2"}},
    )

    assert reading.called == ("f", "f")


@pytest.mark.parametrize(
    ("kind", "response", "reason"),
    [
        ("response.completed", {"status": "completed"}, "completed"),
        ("response.completed", {}, None),
        ("response.incomplete", {"incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ("response.incomplete", {"status": "incomplete", "incomplete_details": None}, "incomplete"),
        ("response.cancelled", {"status": "cancelled"}, "cancelled"),
        ("response.done", {"status": "completed"}, "completed"),
    ],
)  # fmt: skip
def test_terminal_events(kind, response, reason):
    """The first is the terminal one; its reason is the finish reason."""
    reading = hear({"type": kind, "response": response}, {"type": kind, "response": response})

    assert (reading.terminal_event_ns, reading.finish_reason) == (1, reason)
    assert not reading.error_event


def test_the_event_may_have_its_type_in_its_name_alone():
    """Some gateways leave it out of the object."""
    reader = reply_reader()
    reader.feed(b'event: response.output_text.delta\ndata: {"delta":"x"}\n\n', 5)

    assert reader.reading().first_token_ns == 5


def test_usage_of_a_running_response_is_no_last_word():
    """A count beside a response that still runs is continuous usage."""
    event = {"type": "response.in_progress", "response": {"usage": {"output_tokens": 3}}}
    reading = hear(event, {"type": "response.output_text.delta", "delta": "x"})

    assert (reading.usage.output, reading.output_source) == (3, "continuous usage")


def test_all_of_the_bill():
    """Cached and written tokens, and those that were thoughts."""
    usage = {
        "input_tokens": 90,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 20},
        "output_tokens": 12,
        "output_tokens_details": {"reasoning_tokens": 8},
    }
    bill = hear({"type": "response.completed", "response": {"usage": usage}}).usage

    assert (bill.input, bill.cached, bill.cache_write) == (90, 64, 20)
    assert (bill.output, bill.reasoning) == (12, 8)


def test_a_whole_body_of_refusal():
    """Read as the stream is."""
    content = [{"type": "refusal", "refusal": "No."}, "junk", {"type": "output_text", "text": ""}]
    body = {"status": "completed", "output": [{"type": "message", "content": content}, "junk"]}
    reader = reply_reader()
    reader.feed(orjson.dumps(body), 5)
    reader.close()

    assert (reader.reading().text, reader.reading().finish_reason) == ("No.", "completed")


def whole(**body):
    """The reading of one whole body."""
    reader = reply_reader()
    reader.feed(orjson.dumps(body), 5)
    reader.close()
    return reader.reading()


def test_a_whole_message_that_had_no_deltas():
    """Its item says it, once, and what is no output in it says nothing."""
    item = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Yes."}]}
    thought = {"summary": [{"type": "summary_text", "text": "Hm."}]}
    reading = hear(
        {"type": "response.output_item.done", "item": item},
        {"type": "response.output_item.done", "item": {"type": "compaction", "id": "c"}},
        {"type": "response.output_item.done", "item": {"type": "reasoning", "id": "r"} | thought},
        {"type": "response.completed", "response": {"output": [item]}},
    )

    assert (reading.text, reading.token_event_ns) == ("Yes.Hm.", (1, 3))
    assert reading.first_reasoning_ns == 3


def test_a_failure_has_its_name_and_not_its_message():
    """The code of the response's error; a failure that names none is one all the same."""
    error = {"code": "server_error", "message": "no-key-1"}
    reading = hear({"type": "response.failed", "response": {"status": "failed", "error": error}})

    assert (reading.error_event, reading.error_type) == (True, "server_error")
    assert hear({"type": "response.failed"}).error_event


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_an_answer_that_is_fetched_later(status):
    """It has not ended, and the note says why."""
    reading = whole(object="response", status=status, output=[])

    assert reading.finish_reason is None
    assert [note.code for note in reading.notes] == ["answer_pending"]


def test_of_a_compacted_conversation_only_the_cost_is_read():
    """Most of what comes back was not generated."""
    message = {"type": "message", "content": [{"type": "input_text", "text": "Hi"}]}
    reading = whole(object="response.compaction", output=[message], usage={"output_tokens": 7})

    assert (reading.text, reading.usage.output, reading.output_source) == ("", 7, "usage")


def test_messages_of_a_tunnel_are_events():
    """Each piece that is fed is one, whole, whatever line ends are in it."""
    reader = reply_reader(101)
    reader.feed(b'{"type":"response.created",\n\n"response":{"model":"m-1"}}', 3)
    reader.feed(b'{"type":"response.output_text.delta","delta":"x"}', 5)
    reader.feed(b"no JSON", 6)
    reader.close()
    reading = reader.reading()

    assert (reading.streamed, reading.model) == (True, "m-1")
    assert (reading.first_event_ns, reading.first_token_ns) == (3, 5)
    assert [note.code for note in reading.notes] == ["event_not_json"]


# What routes messages


@pytest.mark.parametrize(
    ("message", "lane"),
    [
        (b'{"type":"response.create"}', ""),
        (b'{"type":"response.create","stream_id":"a"}', "a"),
        (b'{"type":"response.create","response":{"stream_id":"b"}}', "b"),
        (b'{"type":"response.steer","stream_id":"a"}', None),
        (b"[]", None),
        (b"\xff", None),
    ],
)
def test_which_messages_ask(message, lane):
    """And on which lane."""
    assert lane_asked(message) == lane


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (b'{"type":"response.created","response":{"id":"r"}}', Said("", "r", last=False)),
        (b'{"type":"response.completed","stream_id":"a"}', Said("a", "", last=True)),
        (b'{"type":"error","error":{}}', Said("", "", last=True)),
        (b'{"type":7,"response":[]}', Said("", "", last=False)),
        (b"pong", Said("", "", last=False)),
    ],
)
def test_what_a_message_is_about(message, told):
    """Its lane, its response, and whether it is the last."""
    assert said(message) == told
