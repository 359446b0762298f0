"""Exact parts against llama.cpp's real server: ten prompts, two tokenizers, nothing taken on trust.

The test asks the server for the same differences in its own way: it has whole prompts rendered by
`/apply-template` and counts them with `/tokenize`, where the proxy asks other endpoints for short ones.
"""

from __future__ import annotations

import statistics
import urllib.request
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from demo import tiny
from demo.models import smollm2
from demo.proxied import recording
from demo.server import Setup, serving
from proxy import ranks
from proxy.dialects.openai_chat import OpenAiChat
from proxy.journal.composition import compose
from proxy.journal.tokens import Counter
from tests.support import qwen_model
from tests.support.builders import request_head
from tests.support.prompts import Prompt, prompts

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

MODELS = {"smollm2": lambda: tiny.tiny_model(smollm2()), "qwen": qwen_model.qwen_model}
CHAT = "/v1/chat/completions"
SMALL = 50
"""Tokens from which on a part's estimate is held to bounds."""


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """The JSON that a POST is answered with."""
    request = urllib.request.Request(url, orjson.dumps(body), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return orjson.loads(reply.read())


@dataclass(frozen=True)
class Turn:
    """One prompt: what the server billed, what the record says, what an estimate alone would say."""

    prompt: Prompt
    server: str
    billed: int
    record: dict[str, Any]
    estimate: dict[tuple[str, str], int]

    @property
    def exact(self) -> dict[tuple[str, str], int]:
        """Tokens by part and role, as recorded."""
        return {(p["part"], p["role"]): p["tokens"] for p in self.record["parts"]}

    def sum_of(self, part: str) -> int:
        """Tokens of all roles of a part, as recorded."""
        return sum(tokens for (name, _), tokens in self.exact.items() if name == part)

    def rendered(self, messages: list[dict[str, Any]], **more: Any) -> int:
        """Tokens of a prompt by `/apply-template` and `/tokenize`."""
        prompt = post(f"{self.server}/apply-template", {"messages": messages, **more})["prompt"]
        said = post(f"{self.server}/tokenize", {"content": prompt, "add_special": True})
        return len(said["tokens"])


@pytest.fixture(scope="module", name="counter")
def _counter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    ranks.unpack(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        counter = Counter(ranks.load)
        assert counter.tokenizer(None)
    return counter


@pytest.fixture(scope="module", params=MODELS, name="turns")
def _turns(request, counter, tmp_path_factory):
    """All ten prompts sent through the proxy, one after another, and their records."""
    folder = tmp_path_factory.mktemp(request.param)
    setup = Setup(MODELS[request.param](), request.param, context=32_768)
    model, asked = request.param, prompts()
    with serving(setup, folder / "server.log") as server:
        with recording(server, folder / "journal", folder / "proxy.log") as url:
            bills = [post(f"{url}{CHAT}", prompt.body(model))["usage"] for prompt in asked]
        lines = b"".join(
            path.read_bytes() for path in sorted((folder / "journal").glob("2*.jsonl"))
        )
        records = [orjson.loads(line) for line in lines.splitlines()]
        tokenizer = counter.tokenizer(model)
        yield [
            Turn(prompt, server, bill["prompt_tokens"], record, estimated(prompt, bill, tokenizer))
            for prompt, bill, record in zip(asked, bills, records, strict=True)
        ]


def estimated(prompt, bill, tokenizer):
    """Tokens by part and role as they would be recorded if the server could not count."""
    body = orjson.dumps(prompt.body("any"))
    asked = OpenAiChat().read_request(request_head(), body)
    alone = compose(asked, bill["prompt_tokens"], tokenizer)
    return {(p.part, p.role): p.tokens for p in alone.parts}


def test_the_prompts_are_of_all_sizes(turns):
    """About 50 to 20,000 tokens and more, with 0 to 60 tools."""
    sizes = [turn.billed for turn in turns]

    assert len(sizes) == 10
    assert min(sizes) < 60
    assert max(sizes) > 20_000
    assert {len(turn.prompt.tools) for turn in turns} >= {0, 1, 60}


def test_the_parts_add_up_to_the_bill(turns):
    """To the token, with nothing left over and nothing to note."""
    for turn in turns:
        assert sum(turn.exact.values()) == turn.billed, turn.prompt.name
        assert turn.record["counting"]["residual"] == 0, turn.prompt.name
        assert turn.record["counting"]["tokenizer"] == "server tokenizer", turn.prompt.name
        assert turn.record["notes"] == [], turn.prompt.name


def test_tools_and_system_are_the_difference_that_they_make(turns):
    """Within a token of what the whole prompt has more with them than without."""
    for turn in turns:
        messages, tools = turn.prompt.messages, turn.prompt.tools
        without = turn.rendered(messages)
        offered = {"tools": tools} if tools else {}
        assert abs(turn.rendered(messages, **offered) - without - turn.sum_of("tools")) <= 1
        others = [m for m in messages if m["role"] != "system"]
        assert abs(without - turn.rendered(others) - turn.sum_of("system")) <= 1


def test_the_template_is_small_and_apart(turns):
    """At most 40 tokens or a hundredth of the prompt, and never none: the opener is always there."""
    for turn in turns:
        assert 0 < turn.sum_of("template") <= max(40, turn.billed // 100), turn.prompt.name


def test_the_estimate_is_near_the_exact_count(turns):
    """Parts of 50 tokens and more: within 5 % in the median and 15 % at worst, as docs/metrics.md says."""
    errors = {
        (turn.prompt.name, key): abs(turn.estimate[key] / tokens - 1)
        for turn in turns
        for key, tokens in turn.exact.items()
        if tokens >= SMALL and key[0] != "template"
    }

    assert len(errors) > 30
    assert statistics.median(errors.values()) <= 0.05
    assert max(errors.values()) <= 0.15, max(errors.items(), key=lambda item: item[1])
