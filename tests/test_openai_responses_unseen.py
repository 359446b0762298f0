"""What a request does not show of its prompt, and what the client put into it."""

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


def user(*content):
    """A message of the user."""
    return {"type": "message", "role": "user", "content": list(content)}


@pytest.mark.parametrize(
    ("items", "code", "whole"),
    [
        ([{"type": "reasoning", "encrypted_content": "Q"}, user("Hi")], "content_encrypted", True),
        ([user("Hi"), {"type": "reasoning", "encrypted_content": "Q"}], "content_encrypted", False),
        ([{"type": "compaction", "encrypted_content": "Q"}, user("Hi")], "content_encrypted", False),
        ([user({"type": "encrypted_content", "encrypted_content": "Q"})], "content_encrypted", False),
        ([{"type": "item_reference", "id": "msg_1"}], "previous_response", False),
        ([{"id": "msg_1"}], "previous_response", False),
    ],
)  # fmt: skip
def test_what_is_not_seen_is_said(items, code, whole):
    """And whether the bill is for more than the parts are."""
    reading = read(input=items)

    assert [note.code for note in reading.notes] == [code]
    assert reading.whole is whole


@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "prompt"])
def test_a_prompt_that_goes_on_from_what_the_server_has(field):
    """Its tokens are not guessed: parts stay as they are counted here."""
    reading = read(input="Hi", **{field: "id_1"})

    assert [str(note) for note in reading.notes] == [f"previous_response: request body, {field}"]
    assert not reading.whole


INJECTED = [
    "<environment_context>\n<cwd>/w</cwd>\n</environment_context>",
    "<permissions instructions>\nAsk.\n</permissions instructions>",
    "<skills_instructions>\nNone.\n</skills_instructions>",
    "<user_instructions>\nNo tabs.\n</user_instructions>",
    "<collaboration_mode>plan</collaboration_mode>",
    "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nNo tabs.\n</INSTRUCTIONS>",
]


@pytest.mark.parametrize("text", INJECTED)
@pytest.mark.parametrize("role", ["user", "developer"])
def test_what_the_client_put_in_stands_apart(text, role):
    """In whichever message it is marked; the part is still where it stands."""
    part = "question" if role == "user" else "system"

    assert parts({"role": role, "content": text}, user("Hi"))[0] == (part, "injected", text)


def test_injected_text_in_front_of_the_users_own():
    """A block, or what an editor puts before its heading; joined, it is what was sent."""
    block, editor = f"{INJECTED[0]}\n", "# Context from my IDE:\na.py\n\n## My request for Codex:"

    assert parts(user(f"{block}Hi"), user(f"{editor} Go")) == [
        ("question", "injected", block),
        ("question", "user", "Hi"),
        ("question", "injected", editor),
        ("question", "user", " Go"),
    ]


def test_what_a_model_or_a_tool_says_is_never_injected():
    """It may quote such a mark."""
    said_so = {"role": "assistant", "content": INJECTED[0]}

    assert parts(said_so)[0][:2] == ("history", "assistant")
    assert parts({"type": "function_call_output", "output": INJECTED[0]})[0][1] == "tool"
