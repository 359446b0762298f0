"""What counting costs the recorder: a long conversation is read once, then only what is new in it.

Times are those of the thread, so that other work on the machine is not in them; the bounds are a third above
what is promised (15 ms a turn, 0.5 s for the first), for caches that others have emptied.
"""

from __future__ import annotations

import statistics
import time

import orjson
import pytest

from proxy import ranks
from proxy.asking import Asking
from proxy.dialects.openai_chat import OpenAiChat
from proxy.journal.derive import Context, derive, understand
from proxy.journal.record import Load
from proxy.journal.tokens import Counter
from tests.support.builders import exchange
from tests.support.counting_server import Script, serving
from tests.support.prompts import code, numbers, prose, tools

TURN_S = 0.020
FIRST_S = 0.670
TURNS = 9


def conversation():
    """An agent's 100,000 tokens: prose, code, tables; 40 tools."""
    said = [{"role": "system", "content": prose(12_000)}]
    for n in range(60):
        said.append({"role": "user", "content": prose(400, 311 * n)})
        function = {"name": f"read_{n}", "arguments": f'{{"path": "src/part_{n}.py"}}'}
        call = {"id": f"call_{n}", "type": "function", "function": function}
        said.append({"role": "assistant", "content": prose(600, 733 * n), "tool_calls": [call]})
        result = code(4_800, 977 * n) if n % 4 else numbers(30)
        said.append({"role": "tool", "tool_call_id": f"call_{n}", "content": result})
        said.append({"role": "assistant", "content": prose(900, 599 * n)})
    return said


@pytest.fixture(name="counter")
def _counter(tmp_path, monkeypatch):
    ranks.unpack(tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    counter = Counter(ranks.load)
    assert counter.tokenizer(None)
    return counter


@pytest.fixture(name="costs")
def _costs(counter):
    """Seconds of this thread for each of a few turns, each a question longer than the one before."""
    said, offered = conversation(), tools(40)
    count = Script(
        v1__chat__completions__input_tokens=lambda body: (
            200,
            orjson.dumps({"input_tokens": len(orjson.dumps(body)) // 4}),
        )
    )
    asker = Asking("private", time.monotonic_ns, lambda *_: None)
    costs, tokens = [], 0
    with serving(count) as authority:
        for n in range(TURNS):
            said += [{"role": "user", "content": prose(300, 41 * n)}]
            body = {"model": "m", "messages": said, "tools": offered, "stream": True}
            sent = exchange(request_body=orjson.dumps(body))
            started = time.thread_time()
            understood = understand(sent, OpenAiChat())
            found = asker.ask(f"http://{authority}", authority, understood.request)
            context = Context("run", Load(), counter, found.measured, found.notes)
            record = derive(sent, understood, context).record
            costs.append(time.thread_time() - started)
            assert record.counting.tokenizer == "server tokenizer"
            tokens = record.counting.counted
            said += [{"role": "assistant", "content": prose(500, 67 * n)}]
    asker.close()
    assert tokens > 100_000
    return costs


def test_a_long_conversation_costs_what_is_new_in_it(costs):
    """Reading, asking a server and counting: half a second for the first turn, then milliseconds."""
    first, *later = costs
    assert first < FIRST_S
    assert statistics.median(later) < TURN_S, later
