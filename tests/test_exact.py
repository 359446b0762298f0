"""Exact parts by difference: what is asked, and what is made of the answers of a server that one can check.

The server here is a chat template of a few lines whose token is a word, so each number has a reason.
"""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.dialects.openai_chat import OpenAiChat
from proxy.dialects.openai_responses import OpenAiResponses
from proxy.dialects.slices import WHOLE, Slice
from proxy.journal.composition import compose
from proxy.journal.exact import EMPTY, measured, questions
from proxy.journal.piles import shared
from tests.support.builders import counter, request_head, words

TOKENIZER = counter().tokenizer("any")
SERVER = "server tokenizer"
SHARED = "server tokenizer, shared by tiktoken o200k_base"
MARKS = 2
"""What the template of these tests writes around a message."""


def server(body, default="", *, drops_tools=False):
    """Tokens of a chat: begin, tools and what frames them, messages with marks, opener."""
    messages = body["messages"]
    text = ["<begin>"]
    if body.get("tools") and not drops_tools:
        text += ["<tools>", *(words_of(tool["function"]) for tool in body["tools"]), "</tools>"]
    if default and messages[0]["role"] != "system":
        text += ["<s>", default, "</s>"]
    for message in messages:
        calls = [words_of(call["function"]) for call in message.get("tool_calls", [])]
        content = message["content"] or ""
        texts = [content] if isinstance(content, str) else [p.get("text", "") for p in content]
        text += ["<s>", *texts, *calls, "</s>"]
    return len(" ".join([*text, "<answer>"]).split())


def words_of(function):
    """A call or a definition as the template writes it: its words."""
    return " ".join(str(value) for value in function.values())


def user(count):
    """A message of the user."""
    return {"role": "user", "content": words(count)}


def assistant(count, *calls):
    """An answer, with calls."""
    return {"role": "assistant", "content": words(count), "tool_calls": list(calls)}


def result(count):
    """What came of a call."""
    return {"role": "tool", "content": words(count), "tool_call_id": "1"}


def tool(count):
    """A definition of so many words and a name."""
    return {"type": "function", "function": {"name": "f", "description": words(count)}}


CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": words(3)}}
SYSTEM = {"role": "system", "content": words(30)}


def asked(messages, tools=()):
    """The reading of a chat request."""
    body = {"model": "m", "messages": messages, **({"tools": list(tools)} if tools else {})}
    return OpenAiChat().read_request(request_head(), orjson.dumps(body))


def found(reading, billed=None, refuses=(), **template):
    """The composition of a request after asking a server that refuses some slices."""
    counts = {
        wanted: server(reading.slices.body(wanted), **template)
        for wanted in questions(reading.slices)
        if wanted not in refuses
    }
    return compose(reading, billed, TOKENIZER, measured(reading.slices, counts))


def rows(composition):
    """The parts as (part, role): tokens."""
    return {(p.part, p.role): p.tokens for p in composition.parts}


def sources(composition):
    """The parts as (part, role): source."""
    return {(p.part, p.role): p.source for p in composition.parts}


def test_a_first_turn_is_exact():
    """Each part is what it adds, marks included; the template is an empty chat's."""
    reading = asked([SYSTEM, user(20)], [tool(40), tool(7)])
    composition = found(reading, billed=server(reading.slices.body(WHOLE)))
    assert rows(composition) == {
        ("tools", "tool"): 41 + 8 + 2,
        ("system", "system"): 30 + MARKS,
        ("question", "user"): 20,
        ("template", "template"): 2 + MARKS,
    }
    assert set(sources(composition).values()) == {SERVER}
    assert composition.counting.residual == 0
    assert composition.counting.tokenizer == SERVER
    assert composition.notes == ()


def test_a_loop_behind_the_question_is_counted_apart():
    """What stands before, in and behind the question is exact; calls and results share by local counts."""
    reading = asked([SYSTEM, user(9), assistant(50), user(20), assistant(0, CALL), result(60)])
    composition = found(reading)
    before, behind = 9 + 50 + 2 * MARKS, 4 + 60 + 2 * MARKS
    weights = [9 + 4, 50 + 4, 4 + 4, 60 + 4]
    earlier, later = (shared(before, weights[:2]), shared(behind, weights[2:]))
    assert rows(composition) == {
        ("system", "system"): 30 + MARKS,
        ("history", "user"): earlier[0],
        ("history", "assistant"): earlier[1] + later[0],
        ("tool_results", "tool"): later[1],
        ("question", "user"): 20,
        ("template", "template"): 2 + MARKS,
    }
    assert sources(composition)["history", "assistant"] == SHARED
    assert sources(composition)["tool_results", "tool"] == SHARED
    assert sources(composition)["question", "user"] == SERVER


def test_next_turns_ask_for_what_is_new():
    """The slices of tools and system are the same in each turn; two are of the conversation."""
    one = asked([SYSTEM, user(20)], [tool(40)])
    two = asked([SYSTEM, user(20), assistant(30), user(5)], [tool(40)])
    bodies = [
        {orjson.dumps(reading.slices.body(wanted)) for wanted in questions(reading.slices)}
        for reading in (one, two)
    ]
    assert len(bodies[0]) == 5
    assert len(bodies[1] - bodies[0]) == 2


def test_a_template_that_drops_tools_is_noted():
    """Tools make the prompt no longer: they keep their count, which is in no sum."""
    reading = asked([SYSTEM, user(20)], [tool(40)])
    composition = found(reading, billed=56, drops_tools=True)
    assert rows(composition)["tools", "tool"] > 40
    assert sources(composition)["tools", "tool"] == f"{TOKENIZER.source}, not in the bill"
    assert sum(n for (part, _), n in rows(composition).items() if part != "tools") == 56
    assert [str(n) for n in composition.notes] == [
        "template_drops_tools: prompt, 56 with and without"
    ]


def test_a_system_prompt_of_the_templates_own_hides_nothing():
    """It stands where none is sent, so the plain difference would be too small by its length."""
    reading = asked([SYSTEM, user(20)])
    composition = found(reading, default=words(25))
    assert rows(composition) == {
        ("system", "system"): 30,
        ("question", "user"): 20,
        ("template", "template"): 2 + 2 * MARKS,
    }


@pytest.mark.parametrize(
    ("refused", "together"),
    [
        (Slice(system="sent"), {("tools", "tool"), ("system", "system")}),
        (Slice(until=3), {("history", "user"), ("history", "assistant"), ("question", "user")}),
    ],
)
def test_what_a_template_forbids_leaves_two_neighbours_together(refused, together):
    """Their sum stays exact and is shared by local counts, which the source says."""
    reading = asked([SYSTEM, user(9), assistant(50), user(20)], [tool(40)])
    whole = found(reading)
    composition = found(reading, refuses=[refused])
    assert sum(rows(composition).values()) == sum(rows(whole).values())
    assert together <= {key for key, source in sources(composition).items() if source == SHARED}


@pytest.mark.parametrize("refused", [EMPTY, WHOLE])
def test_without_the_whole_or_the_empty_chat_nothing_is_exact(refused):
    """Then the count made here is scaled to the bill."""
    composition = found(asked([SYSTEM, user(20)]), billed=60, refuses=[refused])
    assert composition.counting.tokenizer == TOKENIZER.source


def test_a_bill_that_differs_a_little_is_the_templates():
    """A beginning that only generation adds is the template's; the residual says it."""
    reading = asked([SYSTEM, user(20)])
    composition = found(reading, billed=server(reading.slices.body(WHOLE)) + 1)
    assert rows(composition)["template", "template"] == 3 + MARKS
    assert sources(composition)["template", "template"] == "usage minus parts"
    assert composition.counting.residual == 1


def test_a_bill_that_differs_much_forces_nothing():
    """The parts stay as the server counted them, and a note says that its bill is another."""
    composition = found(asked([SYSTEM, user(20)]), billed=500)
    assert rows(composition)["question", "user"] == 20
    assert composition.counting.residual == 500 - 56
    assert [n.code for n in composition.notes] == ["count_mismatch"]


def test_pictures_are_what_the_bill_has_more():
    """They are never sent to be counted; one kind of media gets the rest."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [{"type": "text", "text": words(20)}, picture, picture]
    reading = asked([{"role": "user", "content": content}])
    assert b"base64" not in orjson.dumps(reading.slices.body(WHOLE))
    composition = found(reading, billed=24 + 512)
    assert rows(composition)["media", "image"] == 512
    assert sources(composition)["media", "image"] == "usage minus server tokenizer"


def test_each_tool_has_its_share_of_the_exact_number():
    """The entries of the set add up to the tools' tokens."""
    composition = found(asked([user(20)], [tool(40), tool(7), tool(90)]))
    entries = composition.tool_set.tools
    assert sum(entry.tokens for entry in entries) == composition.tools.tokens
    assert composition.tool_set.source == SHARED


MESSAGES = st.lists(
    st.one_of(
        st.integers(0, 40).map(user),
        st.integers(0, 40).map(assistant),
        st.integers(0, 40).map(result),
        st.just(SYSTEM),
    ),
    min_size=1,
    max_size=8,
).filter(lambda messages: any(m["role"] == "user" and m["content"] for m in messages))


@given(messages=MESSAGES, tools=st.lists(st.integers(0, 50).map(tool), max_size=3), data=st.data())
def test_whatever_was_said_the_parts_add_up(messages, tools, data):
    """Any order of roles, any slice refused: the sum is the server's count, no part is negative."""
    reading = asked(messages, tools)
    optional = [s for s in questions(reading.slices) if s not in (EMPTY, WHOLE)]
    refuses = data.draw(st.lists(st.sampled_from(optional), max_size=2)) if optional else []
    composition = found(reading, refuses=refuses)
    assert composition.counting.tokenizer == SERVER
    assert sum(rows(composition).values()) == server(reading.slices.body(WHOLE))
    assert all(tokens >= 0 for tokens in rows(composition).values())


TEXT = {"type": "text", "text": "hello"}
DIALECTS = [
    (
        AnthropicMessages(),
        "/v1/messages",
        {
            "system": "s",
            "messages": [{"role": "user", "content": [TEXT]}],
            "tools": [{"name": "f"}],
        },
        ("/v1/messages/count_tokens",),
    ),
    (
        OpenAiResponses(),
        "/v1/responses",
        {"instructions": "s", "input": "hello", "tools": [{"type": "function", "name": "f"}]},
        ("/v1/responses/input_tokens",),
    ),
]


@pytest.mark.parametrize(("dialect", "path", "body", "endpoints"), DIALECTS)
def test_other_dialects_have_slices_too(dialect, path, body, endpoints):
    """System and tools stand in fields of their own and are left out of a slice without them."""
    reading = dialect.read_request(request_head(path), orjson.dumps({"model": "m", **body}))
    assert reading.slices.endpoints == endpoints
    assert reading.slices.has_system
    empty = reading.slices.body(EMPTY)
    assert set(empty) == {"model", reading.slices.name}
    assert empty[reading.slices.name] == [{"role": "user", "content": "x"}]
    assert set(reading.slices.body(WHOLE)) == {"model", *body}


def test_a_response_that_goes_on_from_another_has_no_slices():
    """Nobody but its server could put that prompt together."""
    body = orjson.dumps({"input": "hi", "previous_response_id": "resp_1"})
    assert OpenAiResponses().read_request(request_head("/v1/responses"), body).slices is None
