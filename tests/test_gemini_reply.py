"""Gemini's answers: in which form they come, and what they add up to."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.dialects.gemini import Gemini
from proxy.wire.head import ReplyHead, RequestHead
from tests.support.cuts import every_cut


def head():
    """A request's head."""
    return RequestHead("POST", "/v1beta/models/gem-1:generateContent", (1, 1), ())


def content(role, *pieces):
    """A content; a text stands for a part with it."""
    return {"role": role, "parts": [{"text": p} if isinstance(p, str) else p for p in pieces]}


def answer(*objects, status=200, as_stream=True):
    """The reading of a reply with these objects, as events at 10, 20, ... ns or as one body."""
    reader = Gemini().reply_reader(head(), ReplyHead(status, (1, 1), ()))
    for n, item in enumerate(objects, 1):
        data = orjson.dumps(item)
        reader.feed(b"data: %b\n\n" % data if as_stream else data, n * 10)
    reader.close()
    return reader.reading()


def says(*pieces, finish=None, **more):
    """An answer of one candidate with these parts."""
    candidate = {"content": content("model", *pieces), "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


def bill(**counts):
    """The usage of an answer with these counts."""
    meta = {f"{name}TokenCount": count for name, count in counts.items()}
    return answer(says("a", usageMetadata=meta)).usage


FORMS = {
    "events": (b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\n', 5),
    "an array": (b' [{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}]', 5),
    "an object": (b'\xef\xbb\xbf{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}', None),
}


@every_cut
@pytest.mark.parametrize(("body", "at_ns"), FORMS.values(), ids=FORMS)
def test_the_first_byte_tells_the_form(body, at_ns, cut):
    """Events and elements have times of their own, one object has none; labels do not count."""
    reader = Gemini().reply_reader(head(), ReplyHead(200, (1, 1), ()))
    for piece in cut(body):
        reader.feed(piece, 5)
    reader.close()
    reading = reader.reading()

    assert (reading.text, reading.first_token_ns, reading.streamed) == ("a", at_ns, bool(at_ns))


@pytest.mark.parametrize("body", [b"", b" \n", b"oops", b"[", b"[7]"])
def test_no_object_at_all(body):
    """Nothing is read, and nothing raises."""
    reader = Gemini().reply_reader(head(), ReplyHead(200, (1, 1), ()))
    reader.feed(body, 0)
    reader.close()

    assert reader.reading().text == ""


def test_channels():
    """Thoughts are reasoning, calls are calls, and an empty text with a signature is no token."""
    reading = answer(
        says({"text": "T", "thought": True}),
        says("a", {"functionCall": {"name": "look", "args": {"at": 1}}}),
        says({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"),
    )

    assert (reading.first_reasoning_ns, reading.first_visible_text_ns, reading.first_tool_call_ns) == (10, 20, 20)  # fmt: skip
    assert (reading.last_token_ns, reading.terminal_event_ns) == (20, 30)
    assert (reading.text, reading.called) == ('Talook{"at":1}', ("look",))


PIECES = {
    "texts": ([{"stringValue": "ab"}, {"stringValue": "c"}], "abc"),
    "other values": ([{"numberValue": 3}, {"boolValue": False}, {"nullValue": None}, {}], "3false"),
    "no list": ("x", ""),
}


@pytest.mark.parametrize(("pieces", "text"), PIECES.values(), ids=PIECES)
def test_arguments_in_pieces(pieces, text):
    """Each piece is output; only the name begins a call."""
    reading = answer(
        says({"functionCall": {"name": "look", "willContinue": True}}),
        says({"functionCall": {"partialArgs": pieces}}),
    )

    assert (reading.called, reading.text) == (("look",), f"look{text}")


def test_code_for_the_server_is_a_call():
    """What came of it is no output of the model."""
    reading = answer(
        says({"executableCode": {"code": "print(1)"}}),
        says({"codeExecutionResult": {"output": "1"}}),
    )

    assert (reading.called, reading.text) == (("codeExecution",), "print(1)")
    assert reading.token_event_ns == (10,)


BILLS = {
    "thoughts are output": ({"prompt": 9, "candidates": 5, "thoughts": 7, "total": 21}, (9, 12, 7)),
    "thoughts within the candidates": ({"prompt": 9, "candidates": 5, "thoughts": 4, "total": 14}, (9, 5, 4)),
    "within, beside a tool's prompt": ({"prompt": 9, "toolUsePrompt": 3, "candidates": 5, "thoughts": 4, "total": 17}, (9, 5, 4)),
    "no total": ({"prompt": 9, "candidates": 5, "thoughts": 4}, (9, 9, 4)),
    "only thoughts": ({"thoughts": 4}, (None, 4, 4)),
    "only a total": ({"total": 4}, (None, None, None)),
    "other types": ({"prompt": "9", "candidates": -1, "thoughts": None}, (None, None, None)),
}  # fmt: skip


@pytest.mark.parametrize(("counts", "expected"), BILLS.values(), ids=BILLS)
def test_the_bill(counts, expected):
    """Output is candidates and thoughts; what is not said is not zero."""
    usage = bill(**counts)

    assert (usage.input, usage.output, usage.reasoning) == expected


def test_cached_tokens_are_within_the_prompt():
    """They are not added to it."""
    usage = bill(prompt=9, cachedContent=8)

    assert (usage.input, usage.cached) == (9, 8)


def test_figures_of_its_own():
    """What a built-in tool put into the prompt, and the prompt by kind, for the media in it."""
    details = [
        {"modality": "TEXT", "tokenCount": 4},
        {"modality": "IMAGE", "tokenCount": 258},
        {},
        7,
    ]
    meta = {"toolUsePromptTokenCount": 3, "promptTokensDetails": details}

    assert answer(says("a", usageMetadata=meta)).reported == {
        "toolUsePromptTokenCount": 3,
        "promptTokensDetails.TEXT": 4,
        "promptTokensDetails.IMAGE": 258,
    }


def test_a_finish_before_the_end_is_none():
    """Output behind it shows that; empty parts, or more usage, do not."""
    early = says("a", finish="STOP")

    assert answer(early, says("b"), says("c", finish="MAX_TOKENS")).terminal_event_ns == 30
    assert answer(early, says("b"), says("c", finish="MAX_TOKENS")).finish_reason == "MAX_TOKENS"
    assert answer(early, says("b")).terminal_event_ns is None
    assert answer(early, says(""), says()).terminal_event_ns == 10


def test_a_prompt_that_was_turned_down():
    """Why is the end of it; without a reason nothing has ended."""
    assert answer({"promptFeedback": {"blockReason": "SAFETY"}}).finish_reason == "SAFETY"
    assert answer({"promptFeedback": {"safetyRatings": []}}).terminal_event_ns is None


@pytest.mark.parametrize("candidates", [[{"index": 1}], [{}, {}]])
def test_several_candidates_are_noted(candidates):
    """Rates per token mean little then."""
    assert [str(n) for n in answer({"candidates": candidates}).notes] == ["several_choices: reply"]


def test_media_in_the_answer_are_noted():
    """They are output that no text accounts for."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo"}}

    assert [str(n) for n in answer(says(picture)).notes] == ["media_output: reply, image/png"]


ODD = {
    "nothing": {},
    "candidates of other types": {"candidates": [7, {"content": "x"}, {"content": {"parts": [1, {"text": 2}]}}]},
    "calls of other types": says({"functionCall": "x"}, {"functionCall": {"name": 3, "args": []}}, {"executableCode": 1}),
    "usage of another type": {"usageMetadata": [1], "modelVersion": 7, "promptFeedback": "x"},
}  # fmt: skip


@pytest.mark.parametrize("as_stream", [True, False])
@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_fields_of_other_types_are_not_there(body, as_stream):
    """None of them is output, a count or a name."""
    reading = answer(body, as_stream=as_stream)

    assert (reading.text, reading.called, reading.usage.output, reading.model) == ("", (), None, None)  # fmt: skip


def test_a_wrapped_answer():
    """Code Assist puts each answer into another object."""
    reading = answer({"response": says("a", modelVersion="m"), "traceId": "t"})

    assert (reading.text, reading.model) == ("a", "m")


FIELDS = (
    "contents", "role", "parts", "text", "thought", "functionCall", "function_response", "response", "args",
    "inlineData", "mimeType", "tools", "functionDeclarations", "name", "systemInstruction", "request",
    "generationConfig", "thinkingConfig", "candidates", "content", "finishReason", "usageMetadata",
    "candidatesTokenCount", "promptTokensDetails", "promptFeedback", "error", "index", "user", "model",
)  # fmt: skip
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.floats() | st.sampled_from(FIELDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(FIELDS), SHAPES, max_size=5))
def test_no_shape_of_json_raises(body):
    """Whatever stands under names that mean something, in a request and in an answer."""
    reading = Gemini().read_request(head(), orjson.dumps(body))

    assert all(part.text or part.name or part.part == "tools" for part in reading.parts)
    assert answer(body, body).model == answer(body, as_stream=False).model
