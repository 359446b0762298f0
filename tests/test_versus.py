"""Before and after: like is held against like, what the report had promised stands beside what came of it."""

from __future__ import annotations

import msgspec
import orjson
import pytest

from analysis.explain.overview import overview
from analysis.explain.source import Refusal
from analysis.explain.versus import versus
from analysis.render.versus import versus_text
from analysis.stats.compare import FEWEST, Stratum, change
from analysis.store.base import Journal
from proxy.journal.record import Load
from tests.support import method
from tests.support.builders import S, parts
from tests.support.findings import marks, turn
from tests.support.turnscope import run

numpy = pytest.importorskip("numpy")
SEEDS = 1_000


def runs(effect, seed, shift=0.0):
    """Two strata of skewed times, a tenth of them stalls; `shift` moves long ones to the side after."""
    rng = numpy.random.default_rng(seed)

    def times(n, scale, factor):
        stalls = numpy.where(rng.random(n) < 0.1, 3.0, 1.0)
        return list(scale * factor * stalls * rng.lognormal(0, 0.4, n))

    return [
        Stratum(times(30, 2.0, 1.0), times(30 - round(20 * shift), 2.0, effect)),
        Stratum(times(20, 20.0, 1.0), times(20 + round(20 * shift), 20.0, effect)),
    ]


@pytest.mark.parametrize(
    ("effect", "shift"), [(1.0, 0.0), (0.8, 0.0), (0.5, 0.0), (1.0, 1.0), (0.8, 1.0)]
)
def test_the_intervals_hold_the_truth(effect, shift):
    """In 93 to 97 of 100, with more long questions after the change as well; A/A differs in 6 at most."""
    found = [change(runs(effect, seed, shift)) for seed in range(50_000, 50_000 + SEEDS)]
    covered = sum(f.low <= effect <= f.high for f in found) / SEEDS

    assert 0.93 <= covered <= 0.97
    # Of the geometric means that this mix has: stalls of three times in a tenth of the turns.
    weights = [s.weight for s in runs(effect, 0, shift)]
    typical = sum(
        w * (numpy.log(t) + 0.1 * numpy.log(3)) for w, t in zip(weights, (2, 20), strict=True)
    )
    saves = numpy.exp(typical / sum(weights)) * (1 - effect)
    assert 0.93 <= sum(f.saved_low <= saves <= f.saved_high for f in found) / SEEDS <= 0.97
    if effect == 1.0:
        assert sum(f.shown for f in found) <= 0.06 * SEEDS


def test_few_turns_are_not_compared():
    """One less than is needed on either side, or all on one side."""
    assert change([Stratum([1.0] * FEWEST, [1.0] * (FEWEST - 1))]) is None
    assert change([]) is None
    assert change([Stratum([1.0] * FEWEST, [2.0] * FEWEST)]) == pytest.approx(
        (2, 2, 2, 1, 2, -1, -1)
    )


def many(count, seconds, begin=0, **changes):
    """Turns of about so many seconds."""
    return [
        turn(begin + n, timings=marks(end_ns=round((seconds + n % 5 / 10) * S)), **changes)
        for n in range(count)
    ]


def held(before, after):
    """Both sides compared."""
    sides = [Journal(records=tuple(side)) for side in (before, after)]
    return versus(before, after, *map(overview, sides))


def test_a_change_that_helped():
    """In seconds and as a factor, with the tokens of what was changed."""
    after = many(20, 8, 100, parts=parts(system=100, history=500, question=200))
    found = held(many(20, 10), after)

    assert found.change.shown
    assert found.saved_ns == pytest.approx(2 * S, rel=0.05)
    assert (found.before.tokens, found.after.tokens) == ({"system": 300}, {"system": 100})
    assert "Turns became 1.2" in versus_text(found, "then", "now")


def test_no_difference_is_an_answer():
    """The interval says what it could still be."""
    text = versus_text(held(many(20, 10), many(20, 10, 100)), "then", "now")

    assert "No difference shown (~)" in text
    assert "the true change may be anything from" in text


def test_a_mix_that_shifts_is_no_effect():
    """More long questions after: each kind is held against itself."""
    long = {"parts": parts(system=300, question=3_000)}
    before = many(30, 5) + many(6, 20, 100, **long)
    after = many(6, 5, 200) + many(30, 20, 300, **long)
    found = held(before, after)

    assert (found.strata, found.change.shown) == (2, False)
    assert found.before.compared == 36


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_served": "another"}, "no server and model in common"),
        ({"upstream": "http://10.0.0.9:1"}, "no server and model in common"),
        (
            {"load": Load(in_flight_at_arrival=9, in_flight_peak=9)},
            "the best has 0: 5 more would do",
        ),
        ({"error_kind": "http_error", "status": 500, "kind": "turn"}, "there is no turn after"),
    ],
)
def test_what_is_not_alike_is_refused(changes, reason):
    """With the reason; nothing is divided."""
    after = [msgspec.structs.replace(t, **changes) for t in many(20, 8, 100)]
    if "error_kind" in changes:
        bare = msgspec.structs.replace(after[0].timings, first_token_ns=None)
        after = [msgspec.structs.replace(t, timings=bare, generation="none") for t in after]
    found = held(many(20, 10), after)

    assert isinstance(found.change, Refusal)
    assert reason in found.change.reason
    assert "Not compared" in versus_text(found, "then", "now")


def cut_midway(folder):
    """METHOD's chat with its 31 tools, and the same without the 24 that nobody called."""
    whole = method.method()
    kept = msgspec.structs.replace(method.TOOL_SET, set_hash="7777777777777777", tools=method.USED)
    before = [r for r in whole.records if r.kind == "turn"]
    gone = sum(t.tokens for t in method.UNUSED) * method.TTFT_NS // method.PROMPT
    after = []
    for n, r in enumerate(before):
        earlier = {
            f: getattr(r.timings, f) - gone
            for f in ("first_event_ns", "first_token_ns", "first_visible_text_ns", "last_token_ns",
                      "terminal_event_ns", "end_ns")
        }  # fmt: skip
        left = r.tools.tokens - sum(t.tokens for t in method.UNUSED)
        prompt = [
            msgspec.structs.replace(p, tokens=left) if p.part == "tools" else p for p in r.parts
        ]
        after.append(
            msgspec.structs.replace(
                r,
                id=f"later-{n + 1}",
                at_unix_ns=r.at_unix_ns + 86_400 * S,
                label="lean",
                parts=prompt,
                tools=msgspec.structs.replace(
                    r.tools, set_hash=kept.set_hash, count=7, tokens=left
                ),
                timings=msgspec.structs.replace(r.timings, **earlier),
                usage=msgspec.structs.replace(r.usage, input=r.usage.input - 5_118),
            )
        )
    sets = {**whole.tool_sets, kept.set_hash: kept}
    method.write(folder, Journal(records=whole.records, tool_sets=sets))
    (folder / "2026-09-22-7-1.jsonl").write_bytes(
        b"".join(msgspec.json.encode(r) + b"\n" for r in after)
    )
    return folder


@pytest.mark.parametrize(
    "flags",
    [("--versus", "home", "--turns-only"), ("--before", "2026-09-22", "--after", "2026-09-22")],
)
def test_what_was_promised_stands_beside_what_came(tmp_path, flags):
    """By label and by date: 24 tools gone, the promised seconds lie in the measured interval."""
    folder = cut_midway(tmp_path / "journal")
    done = run("report", "--journal", folder, "--json", *flags)
    told = orjson.loads(done.stdout)

    assert done.returncode == 0
    assert told["schema"] == "turnscope.versus/1"
    assert told["difference_shown"]
    assert (len(told["promise"]["tools"]), told["promise"]["tokens"]) == (24, 5_118)
    low, high = told["saved_interval_ns"]
    assert low <= told["promise"]["saves_ns"] <= high
    assert told["saved_ns"] == pytest.approx(told["promise"]["saves_ns"], rel=0.1)
    assert (told["before"]["tokens"]["tools"], told["after"]["tokens"]["tools"]) == (6_603, 1_485)


@pytest.mark.parametrize(
    ("flags", "status", "words"),
    [
        (("--versus", "nobody"), 1, "no turn has the label 'nobody'"),
        (("--before", "2026-09-01", "--after", "2026-09-02"), 1, ""),
        (("--before", "2026-09-22"), 2, "give both"),
        (("--before", "2026-09-22", "--after", "2026-09-21"), 2, "would overlap"),
        (("--versus", "home", "--before", "2026-09-21"), 2, "leave --before and --after out"),
    ],
)
def test_what_cannot_be_compared(tmp_path, flags, status, words):
    """A sentence, and a status that a script can tell."""
    folder = method.write(tmp_path / "journal", method.method())
    done = run("report", "--journal", folder, *flags)

    assert done.returncode == status
    assert words in done.stderr
