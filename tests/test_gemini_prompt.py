"""Prompts for Gemini: which text is which part, whoever says it in whatever role."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.gemini import Gemini
from proxy.wire.head import RequestHead


def head():
    """A request's head."""
    return RequestHead("POST", "/v1beta/models/gem-1:generateContent", (1, 1), ())


def read(**body):
    """The reading of a request with this body."""
    return Gemini().read_request(head(), orjson.dumps(body))


def parts(*contents, **body):
    """Part, role and text of each piece of the prompt."""
    return [(p.part, p.role, p.text) for p in read(contents=contents, **body).parts]


def content(role, *pieces):
    """A content; a text stands for a part with it."""
    return {"role": role, "parts": [{"text": p} if isinstance(p, str) else p for p in pieces]}


TOOLS = {
    "functions": ({"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, [("a", {"name": "a"}), ("b", {"name": "b"})]),
    "the other spelling": ({"function_declarations": [{"name": "a"}]}, [("a", {"name": "a"})]),
    "a built-in": ({"googleSearch": {}}, [("googleSearch", {"googleSearch": {}})]),
    "a built-in in the other spelling": ({"code_execution": {}}, [("codeExecution", {"codeExecution": {}})]),
    "a built-in beside functions": ({"functionDeclarations": [{"name": "a"}], "urlContext": {"x": 1}}, [("a", {"name": "a"}), ("urlContext", {"urlContext": {"x": 1}})]),
    "nothing": ({"functionDeclarations": None, "googleSearch": None}, []),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "expected"), TOOLS.values(), ids=TOOLS)
def test_each_tool_is_a_part(tool, expected):
    """A function by its own name, a built-in by the name of its field, all that was sent of it."""
    for sent in ([tool], tool):
        found = read(tools=sent).parts
        assert [(p.name, orjson.loads(p.text)) for p in found] == expected


SYSTEMS = {
    "a content": {"role": "user", "parts": [{"text": "S"}]},
    "one part": {"parts": {"text": "S"}},
    "a text": "S",
}


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
@pytest.mark.parametrize("name", ["systemInstruction", "system_instruction"])
def test_the_system_instruction(name, system):
    """It has no role of its own, and stands between tools and contents wherever the JSON has it."""
    body = {"contents": [content("user", "Q")], name: system, "tools": [{"googleSearch": {}}]}

    assert [(p.part, p.role) for p in read(**body).parts] == [
        ("tools", "tool"),
        ("system", "system"),
        ("question", "user"),
    ]


def test_a_conversation():
    """Earlier turns are history by role, what the user said last is the question; each knows its place."""
    prompt = [content("user", "Q1"), content("model", "A1"), content("user", "Q2")]

    assert parts(*prompt) == [
        ("history", "user", "Q1"),
        ("history", "model", "A1"),
        ("question", "user", "Q2"),
    ]
    assert [part.message for part in read(contents=prompt).parts] == [0, 1, 2]


def test_without_a_role_the_user_speaks():
    """So it does in the examples of the reference, with one content in place of a list."""
    assert parts({"parts": [{"text": "Q"}]}) == [("question", "user", "Q")]
    assert [p.text for p in read(contents={"parts": {"text": "Q"}}).parts] == ["Q"]


def result(response, **more):
    """A part with what a tool gave back."""
    return {"functionResponse": {"name": "look", "response": response, **more}}


@pytest.mark.parametrize("role", ["user", "function", "tool"])
def test_an_agents_loop(role):
    """The question stays far up; calls behind it are history, results are results in whatever role."""
    call = {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "c2ln"}

    assert parts(
        content("user", "Q1"),
        content("model", {"text": "Old.", "thought": True}, "A1"),
        content("user", "Q2"),
        content("model", {"text": "New.", "thought": True}, call),
        content(role, result({"output": "R"}), result({})),
        content("model", {"function_call": {"name": "look"}}),
        content(role, {"function_response": {"response": {"output": "R"}}}),
    ) == [
        ("history", "user", "Q1"),
        ("history", "model", "A1"),
        ("question", "user", "Q2"),
        ("history", "model", "New."),
        ("history", "model", 'look {"at":1}'),
        ("tool_results", role, '{"output":"R"}'),
        ("history", "model", "look"),
        ("tool_results", role, '{"output":"R"}'),
    ]


def test_what_the_user_says_beside_a_result_is_the_question():
    """The last words of the user are in mid-loop."""
    assert parts(
        content("user", "Q1"), content("model", "A1"), content("user", result({"a": 1}), "Stop.")
    ) == [
        ("history", "user", "Q1"),
        ("history", "model", "A1"),
        ("tool_results", "user", '{"a":1}'),
        ("question", "user", "Stop."),
    ]


CONTEXT = "<session_context>\nLinux.\n</session_context>"


def test_what_a_client_injected_stands_apart():
    """Context that it sets up goes with the question, but is not the user's own words."""
    assert parts(content("user", CONTEXT), content("user", "Hi")) == [
        ("question", "injected", CONTEXT),
        ("question", "user", "Hi"),
    ]


def test_context_behind_results_moves_no_question():
    """What the client adds by itself in a loop is no word of the user."""
    assert parts(content("user", "Q"), content("model", "A"), content("user", CONTEXT)) == [
        ("question", "user", "Q"),
        ("history", "model", "A"),
        ("history", "injected", CONTEXT),
    ]


def test_a_prompt_of_nothing_but_context():
    """Where the user says nothing of his own, it stands for the question."""
    assert parts(content("user", CONTEXT)) == [("question", "injected", CONTEXT)]


MEDIA = {
    "image": {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo"}},
    "audio": {"inline_data": {"mime_type": "audio/wav", "data": "UklGRiQ"}},
    "video": {"fileData": {"mimeType": "video/mp4", "fileUri": "f"}, "videoMetadata": {"fps": 1}},
    "file": {"fileData": {"mimeType": "application/pdf", "fileUri": "f"}},
    "file ": {"inlineData": 7},
}


@pytest.mark.parametrize(("kind", "piece"), MEDIA.items())
def test_media_are_counted_apart(kind, piece):
    """Of a picture, a recording or a file only the kind is kept; its bytes are no text."""
    expected = ("media", "user", kind.strip())

    assert parts(content("user", "See:", piece)) == [("question", "user", "See:"), expected]
    assert parts(content("user", result({}, parts=[piece]))) == [expected]


def test_code_that_ran_on_the_server():
    """The model wrote it, its output is a result."""
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    ran = {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}}

    assert parts(content("user", "Q"), content("model", code, ran)) == [
        ("question", "user", "Q"),
        ("history", "model", "print(1)"),
        ("tool_results", "model", "1"),
    ]


@pytest.mark.parametrize("depth", [10, 300, 1000])
def test_a_deeply_nested_tool(depth):
    """A schema deeper than orjson writes is counted; one that this Python cannot write is noted."""
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    body = b'{"tools":[{"functionDeclarations":[{"name":"a","x":' + deep + b"}]}]}"
    reading = Gemini().read_request(head(), body)
    [part] = reading.parts

    notes = [] if part.text else ["field_not_understood: request body, a tool nested too deep"]
    assert [str(n) for n in reading.notes] == notes
    assert part.name == "a"


def test_results_in_results_are_not_followed():
    """A part nested in itself as deep as JSON goes is noted, not walked into."""
    inner = b'{"functionResponse":{"parts":['
    body = b'{"contents":[{"parts":[' + inner * 250 + b"]}}" * 250 + b"]}]}"
    reading = Gemini().read_request(head(), body)

    assert [n.detail for n in reading.notes] == ["functionResponse"]
