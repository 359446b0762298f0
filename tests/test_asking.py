"""Asking a server: the right endpoint, only near ones, nothing twice, and no answer that does harm."""

from __future__ import annotations

import threading
import time

import orjson
import pytest

from proxy import asking
from proxy.asking import Asking
from proxy.dialects.openai_chat import OpenAiChat
from tests.support.builders import request_head
from tests.support.counting_server import Script, serving, words

INPUT_TOKENS = "/v1/chat/completions/input_tokens"
S = 1_000_000_000


def reading(question="what is it", earlier=(), tools=()):
    """A chat request."""
    messages = [{"role": "system", "content": "be brief"}, *earlier]
    body = {"model": "m", "messages": [*messages, {"role": "user", "content": question}]}
    return OpenAiChat().read_request(
        request_head(), orjson.dumps(body | ({"tools": list(tools)} if tools else {}))
    )


class Clock:
    """Time that a test moves."""

    def __init__(self):
        self.ns = 1_000 * S

    def now(self):
        """Monotonic ns."""
        return self.ns


@pytest.fixture(name="clock")
def _clock():
    return Clock()


@pytest.fixture(name="said")
def _said():
    """What the log was told."""
    return []


@pytest.fixture(name="asker")
def _asker(clock, said):
    asker = Asking("private", clock.now, lambda *told: said.append(told))
    yield asker
    asker.close()


def ask(asker, authority, request=None, **more):
    """One question about a request to the server there."""
    return asker.ask(f"http://{authority}", authority, request or reading(), **more)


def test_the_server_is_asked_for_each_slice(asker, said):
    """The empty chat, the system prompt and the whole; the log is told where."""
    script = Script(v1__chat__completions__input_tokens=words)
    with serving(script) as authority:
        answer = ask(asker, authority)
    assert answer.measured.whole == 2 + 2 + 3
    assert answer.notes == ()
    assert said == [(f"http://{authority}", INPUT_TOKENS)]
    assert [len(body["messages"]) for _, _, body in script.asked] == [1, 2, 2, 2]


def test_nothing_is_asked_twice(asker, clock):
    """The next turn costs what is new; after a while everything is asked again."""
    script = Script(v1__chat__completions__input_tokens=words)
    talk = [{"role": "user", "content": "what"}, {"role": "assistant", "content": "that"}]
    with serving(script) as authority:
        ask(asker, authority)
        before = len(script.asked)
        ask(asker, authority)
        assert len(script.asked) == before
        ask(asker, authority, reading("and then", talk))
        assert len(script.asked) == before + 2
        clock.ns += int(asking.REMEMBERED_S + 1) * S
        ask(asker, authority)
        assert len(script.asked) == 2 * before + 2


def test_another_model_behind_the_same_name_is_asked_anew(asker):
    """The model that answers names itself: its template may be another."""
    script = Script(v1__chat__completions__input_tokens=words)
    with serving(script) as authority:
        ask(asker, authority, served="one")
        before = len(script.asked)
        ask(asker, authority, served="two")
        assert len(script.asked) == 2 * before


def test_no_credentials_and_the_upstreams_host_are_sent(asker):
    """The proxy keeps no key, so it has none to send; `Host` is that of the route."""
    script = Script(v1__chat__completions__input_tokens=words)
    with serving(script) as authority:
        port = authority.partition(":")[2]
        asker.ask(f"http://model.example:{port}", authority, reading())
    sent = {name.lower() for _, headers, _ in script.asked for name in headers}
    assert not sent & {"authorization", "x-api-key", "cookie", "api-key"}
    assert {headers["Host"] for _, headers, _ in script.asked} == {f"model.example:{port}"}


def vllm(body):
    """As vLLM answers: it counts chats, and lists the tokens."""
    _, reply = words(body)
    count = orjson.loads(reply)["input_tokens"]
    return 200, orjson.dumps({"count": count, "max_model_len": 99, "tokens": [1] * count})


def rendered(body):
    """llama.cpp's template endpoint."""
    return 200, orjson.dumps({"prompt": " ".join(m["content"] for m in body["messages"])})


def tokens(body):
    """llama.cpp's tokenizer: without a content it has no tokens and no count."""
    return 200, orjson.dumps({"tokens": body.get("content", "").split()})


@pytest.mark.parametrize(
    ("paths", "endpoint"),
    [
        ({"tokenize": vllm}, "/tokenize"),
        ({"v1__tokenize": vllm}, "/v1/tokenize"),
        ({"tokenize": tokens, "apply-template": rendered}, "/apply-template"),
    ],
)
def test_other_servers_count_elsewhere(asker, said, paths, endpoint):
    """vLLM, SGLang, and llama.cpp before it had an endpoint for it."""
    with serving(Script(**paths)) as authority:
        answer = ask(asker, authority)
    assert answer.measured is not None
    assert said == [(f"http://{authority}", endpoint)]


def refusal(status, reply=b"{}"):
    """An endpoint that always answers so."""
    return lambda _body: (status, reply)


@pytest.mark.parametrize(
    "answer",
    [
        refusal(404),
        refusal(401),
        refusal(403),
        refusal(302),
        refusal(400),
        refusal(200, b"no json"),
        refusal(200, b"[" * 100_000),
        refusal(200, b"[]"),
        refusal(200, b'{"input_tokens": -5}'),
        refusal(200, b'{"input_tokens": "many"}'),
        refusal(200, b'{"input_tokens": true}'),
        refusal(200, b'{"input_tokens": 0}'),
        refusal(200, b""),
    ],
)
def test_a_server_that_does_not_count_is_left_in_peace(asker, clock, said, answer):
    """A refusal, a redirect or nonsense is a no, without a note, remembered for ten minutes."""
    script = Script(v1__chat__completions__input_tokens=answer, elsewhere=words)
    with serving(script) as authority:
        assert ask(asker, authority) == asking.Answer()
        asked = len(script.asked)
        assert ask(asker, authority) == asking.Answer()
        assert len(script.asked) == asked == 4
        assert "/elsewhere" not in {path for path, _, _ in script.asked}
        clock.ns += int(asking.REFUSED_S + 1) * S
        script.paths[INPUT_TOKENS] = words
        assert ask(asker, authority).measured is not None
    assert said == [(f"http://{authority}", None), (f"http://{authority}", INPUT_TOKENS)]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_left_alone_for_a_while(asker, clock, status):
    """It is noted, and asked again after half a minute."""
    script = Script(v1__chat__completions__input_tokens=refusal(status))
    with serving(script) as authority:
        answer = ask(asker, authority)
        assert [str(n) for n in answer.notes] == [f"server_count_failed: prompt, status {status}"]
        assert ask(asker, authority) == asking.Answer()
        assert len(script.asked) == 1
        script.paths[INPUT_TOKENS] = words
        clock.ns += int(asking.LEFT_ALONE_S + 1) * S
        assert ask(asker, authority).measured is not None


def test_a_slow_server_costs_no_more_than_the_time_for_an_exchange(asker, monkeypatch):
    """Then it is noted and the record goes on without it."""
    monkeypatch.setattr(asking, "EXCHANGE_S", 0.2)
    over = threading.Event()
    slow = Script(v1__chat__completions__input_tokens=lambda _body: (over.wait(5), (200, b"{}"))[1])
    with serving(slow) as authority:
        started = time.monotonic()
        answer = ask(asker, authority)
        took_s = time.monotonic() - started
        over.set()
    assert [n.code for n in answer.notes] == ["server_count_failed"]
    assert took_s < 1


def test_a_server_that_is_gone_is_noted(asker):
    """The connection is refused: nothing is raised."""
    with serving(Script()) as authority:
        pass
    assert [n.code for n in ask(asker, authority).notes] == ["server_count_failed"]


def test_an_answer_without_an_end_is_not_read_to_it(asker, monkeypatch):
    """A reply beyond the bound is a failure like any other."""
    monkeypatch.setattr(asking, "REPLY_BYTES", 1_000)
    script = Script(v1__chat__completions__input_tokens=refusal(200, b" " * 5_000))
    with serving(script) as authority:
        answer = ask(asker, authority)
    assert [n.detail for n in answer.notes] == ["an answer too long"]


def test_a_prompt_beyond_the_bound_is_not_sent(asker, monkeypatch):
    """The small slices may be asked for; the record says what was left out."""
    monkeypatch.setattr(asking, "BODY_BYTES", 1_000)
    script = Script(v1__chat__completions__input_tokens=words)
    with serving(script) as authority:
        answer = ask(asker, authority, reading("word " * 500))
        assert [n.code for n in answer.notes] == ["server_count_left_out"]
        assert ask(asker, authority).measured is not None  # the next is not the worse for it
    assert max(len(orjson.dumps(body)) for _, _, body in script.asked) < 1_000


def test_after_the_end_nothing_more_is_asked(asker, clock):
    """The relay waits for the recorder then."""
    script = Script(v1__chat__completions__input_tokens=words)
    with serving(script) as authority:
        asker.deadline_ns = clock.ns
        assert ask(asker, authority) == asking.Answer()
    assert script.asked == []


def test_a_refused_slice_leaves_the_rest(asker):
    """A template that forbids a chat without tools refuses one slice: the others still count."""

    def strict(body):
        contents = [message["content"] for message in body["messages"]]
        return (400, b"{}") if contents == ["be brief", "x"] else words(body)

    with serving(Script(v1__chat__completions__input_tokens=strict)) as authority:
        found = ask(asker, authority).measured
    assert found.whole == 2 + 2 + 3
    assert [s.groups for s in found.stretches] == [{"system", "question"}]


def test_what_cannot_be_counted_is_not_asked(asker):
    """No connection, no messages, no generation: no question."""
    script = Script(v1__chat__completions__input_tokens=words)
    with serving(script) as authority:
        assert asker.ask(f"http://{authority}", None, reading()) == asking.Answer()
        other = OpenAiChat().read_request(request_head(), b"no json")
        assert ask(asker, authority, other) == asking.Answer()
    assert script.asked == []
