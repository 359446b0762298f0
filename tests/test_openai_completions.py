"""Completions of plain text, in OpenAI's older format and in llama.cpp's own."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.base import RequestReading, Usage
from proxy.dialects.openai_completions import OpenAiCompletions
from proxy.wire.head import ReplyHead, RequestHead

PATH = "/v1/completions"


def head(path=PATH, method="POST"):
    """A request's head."""
    return RequestHead(method, path, (1, 1), ())


def read(path=PATH, **body):
    """The reading of a request with this body."""
    return OpenAiCompletions().read_request(head(path), orjson.dumps(body))


def parts(**body):
    """Part and text of each piece of the prompt; none of them has a role."""
    found = read(**body).parts
    assert {p.role for p in found} <= {""}
    return [(p.part, p.text) for p in found]


def reply(*events):
    """The reading of a stream of events 10 ns apart."""
    reader = OpenAiCompletions().reply_reader(head(), ReplyHead(200, (1, 1), ()))
    for n, event in enumerate(events, 1):
        reader.feed(b"data: " + orjson.dumps(event) + b"\n\n", n * 10)
    reader.close()
    return reader.reading()


def whole(body):
    """The reading of a whole body."""
    reader = OpenAiCompletions().reply_reader(head(), ReplyHead(200, (1, 1), ()))
    reader.feed(orjson.dumps(body), 7)
    reader.close()
    return reader.reading()


def choice(text, reason=None, **fields):
    """An event with one choice."""
    return {"choices": [{"index": 0, "text": text, "finish_reason": reason, **fields}]}


def own(content, **fields):
    """An event of llama.cpp's own."""
    return {"content": content, "stop": False, **fields}


BIDS = [
    ("POST", PATH, 90),
    ("POST", "/completions/?a=1", 90),
    ("POST", "/completion", 90),
    ("POST", "/infill", 90),
    ("POST", "/beta/completions", 90),
    ("POST", "http://127.0.0.1:8000/openai/deployments/d/completions", 90),
    ("POST", "/v1/chat/completions", 0),
    ("POST", "/v1/chat/completions/", 0),
    ("POST", "/v1/autocompletion", 0),
    ("POST", "/v1/completions/render", 0),
    ("GET", PATH, 0),
]


@pytest.mark.parametrize(("method", "path", "bid"), BIDS)
def test_bids(method, path, bid):
    """Sure of its paths, never of a chat's."""
    assert OpenAiCompletions().bid(head(path, method), b"") == bid


def test_the_plain_request():
    """Model, stream, limit and sampling as they were sent."""
    reading = read(model="m", stream=True, max_tokens=9, temperature=0, echo=False, logprobs=1)

    assert (reading.model, reading.stream, reading.max_tokens) == ("m", True, 9)
    assert reading.sampling == {"temperature": 0, "echo": False, "logprobs": 1}
    assert (reading.generation, reading.parts, reading.notes) == (True, (), ())
    assert read(n_predict=7).max_tokens == 7
    assert read(n_predict=-1).max_tokens is None


def test_older_paths_name_the_model():
    """Where the body names none."""
    assert read("/v1/engines/m-1/completions").model == "m-1"
    assert read("/openai/deployments/d-1/completions?api-version=1", model="m").model == "m"
    assert read().model is None


PROMPTS = {
    "a text": ({"prompt": "Once"}, [("question", "Once")]),
    "several": ({"prompt": ["Once", "Twice"]}, [("question", "Once"), ("question", "Twice")]),
    "around a gap": ({"suffix": "end", "prompt": "Once"}, [("question", "Once"), ("question", "end")]),
    "around a cursor": (
        {"input_suffix": "c", "prompt": "b", "input_prefix": "a", "input_extra": [{"text": "x"}, {"text": ""}]},
        [("history", "x"), ("question", "a"), ("question", "b"), ("question", "c")],
    ),
    "with media": (
        {"prompt": {"prompt_string": "See", "multimodal_data": ["iVBO", "iVBO"]}},
        [("question", "See"), ("media", "file"), ("media", "file")],
    ),
    "nothing": ({"prompt": "", "suffix": None}, []),
}  # fmt: skip


@pytest.mark.parametrize(("body", "found"), PROMPTS.values(), ids=PROMPTS)
def test_prompts_have_no_role(body, found):
    """Text goes to the model as it is: all of it is the question, but files beside it."""
    assert parts(**body) == found


NUMBERS = {
    "a prompt": ([1, 2, 3], 3),
    "several prompts": ([[1, 2], [3]], 3),
    "among texts": ([1, "a", 2], 2),
}


@pytest.mark.parametrize(("prompt", "count"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_tokens_are_noted(prompt, count):
    """How many is known, what they say is not: no part may claim to be all of it."""
    reading = read(prompt=prompt)

    assert [str(note) for note in reading.notes] == [
        f"prompt_as_token_ids: request body, {count} tokens"
    ]
    assert reading.parts == ()


def test_other_notes_on_a_request():
    """The prompt repeated, and one of a shape that nobody knows."""
    assert [str(n) for n in read(prompt="a", echo=True).notes] == ["prompt_echoed: request body"]
    assert [str(n) for n in read(prompt=7).notes] == ["field_not_understood: request body, prompt"]
    assert read(prompt=None).notes == ()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe"])
def test_a_body_that_is_no_object(body):
    """It still is a request to the model, of which nothing is known."""
    reading = OpenAiCompletions().read_request(head(), body)

    assert [note.code for note in reading.notes] == ["request_not_json"]
    assert reading == RequestReading(notes=reading.notes)


def test_text_in_pieces():
    """An empty text is no token; the reason ends it; the bill counts."""
    reading = reply(
        choice(""), choice("a"), choice("b", "stop"), {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    )  # fmt: skip

    assert (reading.token_event_ns, reading.terminal_event_ns) == ((20, 30), 30)
    assert (reading.text, reading.finish_reason) == ("ab", "stop")
    assert (reading.usage, reading.output_source) == (Usage(input=3, output=2), "usage")


def test_tokens_of_an_event():
    """Where a server tells them, by their numbers or by their probabilities."""
    assert reply(choice("ab", token_ids=[1, 2])).k1 == 2
    assert reply(choice("ab", logprobs={"tokens": ["a", "b"]})).k1 == 2
    assert reply(choice("ab", logprobs=None)).k1 is None


def test_several_answers_are_noted():
    """By their number, or by an index in a stream."""
    two = {"choices": [{"text": "a"}, {"text": "b"}]}

    assert [note.code for note in whole(two).notes] == ["several_choices"]
    assert [note.code for note in reply(choice("a"), choice("b", index=1)).notes] == [
        "several_choices"
    ]


def test_llama_cpps_own_stream():
    """Running counts on each event, the reason and the timings on the last."""
    reading = reply(
        own("", tokens_predicted=0, tokens_evaluated=9),
        own("a", tokens_predicted=1, tokens_evaluated=9),
        own("", tokens_predicted=2, tokens_evaluated=9, stop=True, stop_type="eos", model="m",
            tokens_cached=10, timings={"cache_n": 4, "prompt_n": 5, "predicted_n": 2}),
    )  # fmt: skip

    assert (reading.first_token_ns, reading.k1, reading.terminal_event_ns) == (20, 1, 30)
    assert (reading.finish_reason, reading.model) == ("eos", "m")
    assert (reading.usage, reading.output_source) == (Usage(input=9, output=2, cached=4), "usage")


def test_a_cut_stream_has_the_last_running_count():
    """Better than none, and named for what it is."""
    reading = reply(own("a", tokens_predicted=1))

    assert (reading.usage.output, reading.output_source) == (1, "continuous usage")


STOPS = {
    "a word": ({"stop_type": "word"}, "word"),
    "a switch": ({"stopped_eos": False, "stopped_limit": True}, "stopped_limit"),
    "nothing": ({}, None),
}


@pytest.mark.parametrize(("fields", "reason"), STOPS.values(), ids=STOPS)
def test_llama_cpps_reasons(fields, reason):
    """Newer builds have a word for it, older ones a switch each."""
    reading = reply(own("a", **fields | {"stop": True}))

    assert (reading.finish_reason, reading.terminal_event_ns) == (reason, 10)


def test_bills_of_several_prompts_add_up():
    """llama.cpp's list has one each; a count that one of them lacks is not known."""
    one = own(" x", stop=True, tokens_predicted=4, tokens_evaluated=1, timings={"cache_n": 1})
    two = own(" y", stop=True, tokens_predicted=5, tokens_evaluated=2, index=1)
    reading = whole([one, two])

    assert reading.usage == Usage(input=3, output=9, cached=1)
    assert (reading.text, [note.code for note in reading.notes]) == (" x y", ["several_choices"])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["text", "index", "logprobs", "tokens", "timings", "prompt_string", "finish_reason"]), inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
NAMES = (
    "prompt", "suffix", "input_extra", "choices", "content", "stop", "tokens_predicted", "tokens_evaluated",
    "index", "timings", "usage",
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_nothing_raises(body):
    """Any JSON under any field, asked or answered, is read to some end."""
    assert read(**body).generation
    assert reply(body).streamed
    assert not whole(body).streamed
