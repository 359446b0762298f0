"""`make bench` in small: real processes from end to end, and what is made of the figures.

How long anything takes is no matter here; that the bytes are right is.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from bench.__main__ import main
from bench.clock import monotonic_ns
from bench.contestants import ALL
from bench.ratios import GOALS, ROWS, TTFT, figure, reached
from bench.report import BEGIN, END, markdown, published
from bench.result import Conditions, Measurement, Result
from bench.script import STAMP, STAMP_BYTES, Script, asked, unchunked, without_host
from bench.sse import DELTA, framed_delta
from bench.verdict import problems
from tests.support.source import ROOT


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A quick run of two contestants in two metrics: its exit and its JSON."""
    path = tmp_path_factory.mktemp("bench") / "result.json"
    words = ["--contestants", "direct,turnscope", "--only", "exact,bodies", "--json", str(path)]
    command = [sys.executable, "-m", "bench", "--quick", "--seed", "7", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=100)
    return done, path


def test_a_run_measures_what_was_asked_for(ran):
    """Each contestant in each metric, once, without a fault."""
    done, path = ran
    result = orjson.loads(path.read_bytes())
    cells = {(each["metric"], each["contestant"]) for each in result["measurements"]}

    assert done.returncode == 0, done.stderr.decode()
    assert cells == {(m, c) for m in ("exact", "bodies") for c in ("direct", "turnscope")}
    assert not [each["fault"] for each in result["measurements"] if each["fault"]]
    assert result["conditions"]["seed"] == 7


def test_turnscope_changes_no_byte(ran):
    """Of the head but for Host, the body, and the reply with its framing."""
    found = [m for m in orjson.loads(ran[1].read_bytes())["measurements"] if m["metric"] == "exact"]
    same = dict.fromkeys(("request_head", "request_body", "reply", "reply_body"), 1.0)

    assert [each["values"] for each in found] == [same, same]


def test_a_run_is_shown_and_published(ran, tmp_path):
    """From its JSON alone: the table is printed, and written between the marks of a page."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}\nafter\n", "utf-8")

    done = CliRunner().invoke(main, ["--from", str(ran[1]), "--publish", str(page)])
    text = page.read_text("utf-8")

    assert done.exit_code == 0
    assert "2 MB request p50, ms" in done.stdout
    assert text.startswith(f"before\n{BEGIN}")
    assert text.endswith(f"{END}\nafter\n")
    assert "| 2 MB request p50, ms |" in text
    assert "old" not in text


def running_below(folder):
    """Commands of all processes that were started for a run in that folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended just now
            found.append(file.read_bytes().replace(b"\0", b" ").decode())
    return [command for command in found if folder in command]


def test_a_stop_leaves_nothing_running(tmp_path):
    """Ctrl-C ends the run, the upstream and all contestants, and says so."""
    words = ["--contestants", "direct,turnscope", "--only", "memory"]
    command = [sys.executable, "-m", "bench", *words, "--json", str(tmp_path / "r.json")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    said = ""
    while "round 1/5" not in said:
        said = process.stderr.readline() or pytest.fail("it ended by itself")
    below = f".cache/bench-{process.pid}-"
    began = running_below(below)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert began
    assert process.returncode == 130
    assert "nothing is left running" in said
    assert running_below(below) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--contestants", "nginxx"], "there is no contestant nginxx; there are direct, nginx,"),
        (["--only", "speed"], "there is no metric speed; there are exact,"),
        (["--rounds", "0"], "--rounds"),
        (["--publish", "no-such-page.md"], "does not exist"),
    ],
)
def test_a_wrong_word_is_refused(words, says):
    """Before anything is started, with what there is."""
    done = CliRunner().invoke(main, words)

    assert done.exit_code == 2
    assert says in done.stderr


def test_every_contestant_is_on_the_page():
    """docs/performance.md says of each how it is set up, and what is not installed is named."""
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")

    assert [name for name in ALL if f"| {name} |" not in page] == []
    assert all(each.install for each in ALL.values() if each.command is not None)


def test_a_script_is_asked_for_by_the_name_of_the_model():
    """Also when a gateway puts its own word before it, or sends the body in pieces."""
    script = Script(400, 20_000, kept=True)
    body = b'{"messages": [], "model": "openai/%s"}' % script.model.encode()

    assert asked([body]) == script
    assert [asked([body[:n], body[n:]]) for n in range(len(body))] == [script] * len(body)
    assert asked([b'{"model":"gpt"}']) == asked([]) == Script(0)


def test_a_stamp_has_always_the_same_length():
    """So the framing of a chunk is made beforehand, and a split one is known by its length."""
    for now in (1, 2**62):
        piece = framed_delta() % now
        found = STAMP.search(piece)

        assert int(found[1]) == now
        assert len(found[0]) == STAMP_BYTES
        assert unchunked(piece + b"0\r\n\r\n") == DELTA % now


def test_host_is_all_that_may_differ_in_a_head():
    """Whatever its case; nothing else is taken out."""
    head = b"POST / HTTP/1.1\r\nHOST: a\r\nX-Host: b\r\n\r\n"

    assert without_host(head) == b"POST / HTTP/1.1\r\nX-Host: b\r\n\r\n"


def result(*measurements, **faults):
    """A full run of two rounds with these: contestant, round, metric, values."""
    conditions = Conditions(
        started_at="2026-01-01T00:00:00+00:00",
        cores=2,
        processor="x",
        system="Linux",
        python="3.11",
        load_average=0.0,
        load_core=1,
        effort="full",
        rounds=2,
        seed=1,
        versions={},
        missing={},
    )
    made = [
        Measurement(round=n, metric=m, contestant=c, values=v, **faults)
        for c, n, m, v in measurements
    ]
    return Result(conditions=conditions, took_s=1.0, measurements=made)


def ttft(*figures):
    """Those of one kept connection: contestant, round, us."""
    return result(*[(c, n, "ttft", {"kept_p50_us": us}) for c, n, us in figures])


def test_a_ratio_is_made_within_a_round():
    """Direct of the same round is taken off first; the range is that of the rounds."""
    run = ttft(
        *[("direct", 1, 100.0), ("nginx", 1, 200.0), ("turnscope", 1, 150.0)],
        *[("direct", 2, 500.0), ("nginx", 2, 600.0), ("turnscope", 2, 700.0)],
    )
    cell = figure(run, TTFT, "turnscope")

    assert (125.0, 1.25, 0.5, 2.0) == (cell.median, cell.ratio, cell.low, cell.high)
    assert figure(run, TTFT, "direct").median == 300.0
    assert figure(run, TTFT, "haproxy") is None


def test_without_nginx_there_is_a_figure_and_no_ratio():
    """And a round in which nginx was as fast as nothing at all gives none, either."""
    alone = figure(ttft(("direct", 1, 100.0), ("turnscope", 1, 150.0)), TTFT, "turnscope")
    run = ttft(("direct", 1, 100.0), ("nginx", 1, 99.0), ("turnscope", 1, 150.0))

    assert (alone.median, alone.ratio) == (50.0, None)
    assert figure(run, TTFT, "turnscope").ratio is None


def test_a_goal_is_reached_by_ratio_or_by_figure():
    """At most is at most; without a figure there is no verdict."""
    run = ttft(("direct", 1, 0.0), ("nginx", 1, 100.0), ("turnscope", 1, 120.0))
    verdicts = [reached(goal, figure(run, goal.row, "turnscope")) for goal in GOALS]
    memory = next(goal for goal in GOALS if goal.absolute)
    held = result(("turnscope", 1, "memory", {"relay_rss_mb": 60.1}))

    assert verdicts == [True, *[None] * 7]
    assert all(goal.row in ROWS for goal in GOALS)
    assert reached(memory, figure(held, memory.row, "turnscope")) is False
    assert "60 MB | 60.1 MB | MISS" in markdown(held)


def test_what_was_promised_is_judged():
    """Nginx may frame anew, a gateway may write JSON anew, and turnscope may do neither."""
    values = {"request_head": 0.0, "request_body": 1.0, "reply": 0.0, "reply_body": 0.0}
    run = result(*[(name, 1, "exact", values) for name in ("nginx", "litellm", "turnscope")])

    assert problems(run) == [
        "nginx changed the reply_body in round 1",
        "turnscope changed the request_head in round 1",
        "turnscope changed the reply in round 1",
        "turnscope changed the reply_body in round 1",
    ]
    failed = result(("nginx", 2, "ttft", {}), fault="it does not run")
    assert problems(failed) == ["nginx failed in ttft, round 2: it does not run"]


def test_a_page_without_marks_is_refused():
    """Nothing is written into it."""
    with pytest.raises(ValueError, match="the page has no <!-- figures"):
        published("no marks here", ttft(("direct", 1, 1.0)))


def test_both_ends_read_one_clock():
    """No setting of the wall clock moves it, and other processes have the same."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    assert before <= monotonic_ns() <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
