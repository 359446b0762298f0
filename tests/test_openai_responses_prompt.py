"""What the prompt of a response is made of: items of every kind, in their parts."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.openai_responses import OpenAiResponses
from proxy.wire.head import RequestHead


def read(**body):
    """The reading of a request with this body."""
    head = RequestHead("POST", "/v1/responses", (1, 1), ())
    return OpenAiResponses().read_request(head, orjson.dumps(body))


def parts(*items):
    """(part, role, text) of each part of a prompt with these items."""
    return [(p.part, p.role, p.text) for p in read(input=list(items)).parts]


def codes(*items, **body):
    """The codes of the notes on such a prompt."""
    return [note.code for note in read(input=list(items), **body).notes]


def user(*content):
    """A message of the user."""
    return {"type": "message", "role": "user", "content": list(content)}


def test_the_question_is_what_the_user_said_last():
    """What no model reads may stand inside a turn; calls and results behind it do not end it."""
    found = parts(
        user("One"),
        {"role": "assistant", "content": [{"type": "output_text", "text": "Two"}]},
        user("Three"),
        {"type": "configuration_update"},
        {"role": "system", "content": "Four"},
        user("Five"),
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "output": "Six"},
    )

    assert found == [
        ("history", "user", "One"),
        ("history", "assistant", "Two"),
        ("question", "user", "Three"),
        ("system", "system", "Four"),
        ("question", "user", "Five"),
        ("history", "assistant", "f {}"),
        ("tool_results", "tool", "Six"),
    ]


def test_each_part_knows_its_item():
    """Tools and instructions stand in none; a string is the first."""
    reading = read(
        instructions="Be brief.",
        tools=[{"type": "function", "name": "f"}],
        input=[user("a", "b"), user("c")],
    )

    assert [p.message for p in reading.parts] == [None, None, 0, 0, 1]
    assert [p.message for p in read(input="Hi").parts] == [0]


CALLS = [
    ({"type": "function_call", "name": "f", "arguments": '{"a":1}'}, 'f {"a":1}'),
    ({"type": "function_call", "name": "f", "namespace": "n", "arguments": ""}, "n.f"),
    ({"type": "custom_tool_call", "name": "c", "input": "ls"}, "c ls"),
    ({"type": "local_shell_call", "action": {"command": ["ls"]}}, 'local_shell {"command":["ls"]}'),
    ({"type": "web_search_call", "action": {"query": "q"}}, 'web_search {"query":"q"}'),
    ({"type": "file_search_call", "queries": ["q"]}, 'file_search ["q"]'),
    ({"type": "computer_call", "action": {"type": "wait"}}, 'computer {"type":"wait"}'),
    ({"type": "apply_patch_call", "operation": {"diff": "d"}}, 'apply_patch {"diff":"d"}'),
    ({"type": "mcp_approval_request", "server_label": "s", "name": "m", "arguments": "{}"}, "mcp__s.m {}"),
    ({"type": "program", "code": "1+1"}, "programmatic_tool_calling 1+1"),
    ({"type": "tool_search_call", "arguments": {"query": "q"}}, 'tool_search {"query":"q"}'),
    ({"type": "brand_new_call", "input": "x"}, "brand_new x"),
]  # fmt: skip


@pytest.mark.parametrize(("item", "text"), CALLS)
def test_calls_are_history(item, text):
    """Under the name of the tool that was offered, whatever their type is called."""
    assert parts(item) == [("history", "assistant", text)]
    assert codes(item) == []


RESULTS = [
    ({"type": "function_call_output", "output": "ok"}, ["ok"]),
    ({"type": "function_call_output", "output": [{"type": "input_text", "text": "ok"}]}, ["ok"]),
    ({"type": "custom_tool_call_output", "output": {"type": "input_text", "text": "ok"}}, ["ok"]),
    ({"type": "shell_call_output", "output": [{"stdout": "a", "stderr": "b"}]}, ["ab"]),
    ({"type": "program_output", "result": "2"}, ["2"]),
    ({"type": "apply_patch_call_output", "status": "completed"}, []),
    ({"type": "function_call_output", "output": [{"type": "x", "rows": 3}]}, ['{"type":"x","rows":3}']),
]  # fmt: skip


@pytest.mark.parametrize(("item", "texts"), RESULTS)
def test_outputs_are_tool_results(item, texts):
    """As text, in pieces, or as whatever object a tool returned."""
    assert parts(item) == [("tool_results", "tool", text) for text in texts]
    assert codes(item) == []


def test_hosted_calls_hold_their_results_too():
    """What the model wrote and what it got back are different parts of the prompt."""
    mcp = {
        "type": "mcp_call",
        "server_label": "s",
        "name": "m",
        "arguments": "{}",
        "output": "page",
    }
    code = {
        "type": "code_interpreter_call",
        "code": "1+1",
        "outputs": [{"type": "logs", "logs": "2"}],
    }

    assert parts(mcp, code) == [
        ("history", "assistant", "mcp__s.m {}"),
        ("tool_results", "tool", "page"),
        ("history", "assistant", "code_interpreter 1+1"),
        ("tool_results", "tool", "2"),
    ]


def test_media_are_named_and_never_text():
    """Pictures, screens, recordings and files, wherever they stand."""
    found = parts(
        user(
            {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
            {"type": "input_audio", "input_audio": {"data": "QUJD"}},
            {"type": "input_file", "file_data": "QUJD"},
        ),
        {
            "type": "computer_call_output",
            "output": {"type": "computer_screenshot", "image_url": "Q"},
        },
        {"type": "image_generation_call", "result": "QUJD"},
        {"type": "image_generation_call", "result": None},
    )

    assert [text for part, _, text in found if part == "media"] == [
        "image",
        "audio",
        "file",
        "image",
        "image",
    ]
    assert not any("QUJD" in text for _, _, text in found)


def test_thoughts_behind_the_question_are_history():
    """Those of earlier turns are left out by servers; of what is encrypted nothing is text."""
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Short."}]}
    open_one = thought | {"content": [{"type": "reasoning_text", "text": "Long."}]}

    assert parts(thought, user("Hi"), thought, open_one) == [
        ("question", "user", "Hi"),
        ("history", "assistant", "Short."),
        ("history", "assistant", "Long."),
    ]


def test_a_compaction_in_the_open_is_history():
    """Servers of their own kind may send the summary as text."""
    item = {"type": "compaction_summary", "summary": [{"type": "summary_text", "text": "So far."}]}

    assert parts(item, user("Hi"))[0] == ("history", "assistant", "So far.")


def test_items_that_are_not_known_are_noted():
    """Unknown types, roles and pieces; what no model reads is passed over."""
    assert codes({"type": "brand_new", "x": 1}) == ["item_unknown"]
    assert codes({"role": "wizard", "content": "x"}) == ["role_unknown"]
    assert codes(user({"type": "input_new", "x": 1})) == ["content_part_unknown"]
    assert codes(user({"type": "input_text", "text": ""}, "", 7)) == ["content_part_unknown"]
    assert codes({"type": "compaction_trigger"}, {"type": "mcp_approval_response"}) == []
