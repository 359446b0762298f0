"""What tools cost, against llama.cpp's real server: by the fit, and by leaving them out.

The same prompts are sent with and without tools, in turns, and the client's own clock says what that is
worth. The fit sees other prompts than those. It is made twice: from the prefill that the server reports,
and from TTFT alone, with all the server's figures taken out of the records.

`REAL_TRUTH=long` sends prompts of up to 20,000 tokens, which takes many minutes.
"""

from __future__ import annotations

import math
import os
import time
import urllib.request
from dataclasses import dataclass

import msgspec
import orjson
import pytest

from analysis.explain.prefill import prefill_cost
from analysis.stats.sample import Sample, sample
from demo.proxied import recording, wait_for_record
from proxy.journal.record import Record
from tests.support.prompts import prose, tools

pytest_plugins = ("tests.support.real_server",)

LONG = os.environ.get("REAL_TRUTH") == "long"
pytestmark = [pytest.mark.real, pytest.mark.timeout(1_200 if LONG else 240)]

MOST = 18_000 if LONG else 5_500
"""Tokens of the longest conversation, about."""
SIZES = 60
"""Prompts that the fit sees."""
PAIRS = 8
OFFERED = 28
QUIET = 0.2
"""Width of the measured interval over its middle, up to which the fit is held to its promises: eight waits
for one prompt on cores that others use differ by a factor, and then there is no truth to compare with."""
QUESTION = 5_000
"""Characters of the prompt that is sent with and without tools."""


@dataclass(frozen=True)
class Measured:
    """One conversation with and without its tools, and what the fit may see."""

    seen: list[Record]
    """Of other prompts."""
    prompt: int
    """Tokens, tools included."""
    tools: int
    """Tokens of them."""
    seconds: Sample
    """That they cost, by the client's clock: each time the wait with less the wait without."""

    @property
    def quiet(self) -> bool:
        """Whether the truth is sharp enough to hold the fit against: nobody else computed on the cores."""
        return self.seconds.high - self.seconds.low < QUIET * self.seconds.median


def wait(url, model, content, offered):
    """Seconds to the first piece of an answer: a prompt of which nothing can come from a cache."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "max_tokens": 3,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "cache_prompt": False,
    }
    if offered:
        body["tools"] = tools(offered)
    head = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", orjson.dumps(body), head)
    begin = time.perf_counter()
    with urllib.request.urlopen(request) as reply:
        for line in reply:
            if line.startswith(b"data: {") and _speaks(line):
                waited = time.perf_counter() - begin
                reply.read()
                return waited
    raise AssertionError("no token came")


def _speaks(line):
    choices = orjson.loads(line[6:])["choices"]
    return bool(choices and choices[0]["delta"].get("content"))


@pytest.fixture(scope="module", name="server")
def _server(request):
    """The tests' own tiny server, whose slots share its context; for long prompts one that has but one."""
    return request.getfixturevalue("long_server" if LONG else "tiny_server")


@pytest.fixture(scope="module", name="measured")
def _measured(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    journal, log = folder / "journal", folder / "proxy.log"
    # In the order of no size, so that a machine that gets busier is not taken for a longer prompt.
    sizes = [round(500 * (MOST / 500) ** (n * 7 % SIZES / (SIZES - 1))) for n in range(SIZES)]
    waits = {OFFERED: [], 0: []}
    with recording(server.url, journal, log) as url:
        wait(url, server.model, "Hello.", 0)
        wait_for_record(journal, log)
        for n, size in enumerate(sizes):
            if n * PAIRS // SIZES < (n + 1) * PAIRS // SIZES:
                for offered, each in waits.items():
                    each.append(wait(url, server.model, prose(QUESTION), offered))
            wait(url, server.model, text_of(size), 0 if n % 3 else OFFERED // 4)
    lines = b"".join(path.read_bytes() for path in sorted(journal.glob("2*.jsonl"))).splitlines()
    records = [msgspec.json.decode(line, type=Record) for line in lines][1:]
    whole = [r for r in records if r.tools and r.tools.count == OFFERED]
    counted = sum(p.tokens or 0 for p in whole[0].parts if p.part == "tools")
    bare = whole[0].usage.input - counted
    return Measured(
        seen=[r for r in records if r not in whole and r.usage.input != bare],
        prompt=whole[0].usage.input,
        tools=counted,
        seconds=sample([more - less for more, less in zip(waits[OFFERED], waits[0], strict=True)]),
    )


def text_of(tokens):
    """A text of about so many tokens, longer than a page of ours if need be."""
    characters = round(tokens * 3.6)
    page = prose(20_000)
    return (page * math.ceil(characters / len(page)))[:characters]


@pytest.mark.parametrize("by", ["reported prefill", "TTFT"])
def test_tools_cost_what_leaving_them_out_saves(measured, by):
    """Within the stated interval, whose half-width is at most 15 % of the seconds.

    On a busy machine the truth is an interval as well, and a wide one: then the two must meet.
    """
    seen, truth = measured.seen, measured.seconds
    if by == "TTFT":
        seen = [msgspec.structs.replace(record, reported={}) for record in seen]
    cost = prefill_cost(seen)
    behind = measured.prompt - measured.tools
    low, high = (ns / 1e9 for ns in cost.of_range(measured.tools, behind=behind))
    said = cost.of(measured.tools, behind=behind) / 1e9
    print(
        f"\n{by}: {measured.tools} of {measured.prompt} tokens cost {said:.3f} s ({low:.3f} to {high:.3f});"
        f" without them {truth.median:.3f} s less ({truth.low:.3f} to {truth.high:.3f}). {cost.source},"
        f" {cost.least_tokens} to {cost.most_tokens} tokens, {len(cost.stretches)} stretches"
    )

    assert len(seen) == SIZES
    assert cost.interval
    assert cost.source.kind == ("reported" if by == "reported prefill" else "estimated")
    assert low <= truth.high
    assert truth.low <= high
    if measured.quiet:
        assert low <= truth.median <= high
        assert (high - low) / 2 <= 0.15 * said
