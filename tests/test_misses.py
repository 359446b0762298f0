"""Prefix cache misses by cause: tokens and seconds lost, what changed, and where."""

from __future__ import annotations

import msgspec
import pytest

from analysis.explain.misses import NEAR, misses
from analysis.explain.overview import overview
from analysis.explain.prefill import prefill_costs
from analysis.render.misses import CAUSES, PLACES_SHOWN, misses_table
from analysis.store.base import Journal, Sampling
from analysis.store.recorded import Cause
from analysis.store.tallies import Lost, Tallies
from proxy.dialects.base import PromptPart
from proxy.journal.record import Difference, Prefix, UsageReport
from tests.support.asking import Client, talk
from tests.support.builders import MS, S, parts, record, words

NS_PER_TOKEN = 6.084 * S / 1000
"""Of every exchange here: 1,000 tokens, all read, TTFT as in the field report."""


def turn(n, **prefix):
    """The n-th prompt, held against the one before it; keywords are the record's prefix."""
    fields = {"parent": f"r1-{n - 1}", "parent_age_ns": 8 * S, "shared": 200, "expected": 200}
    return record(
        id=f"r1-{n}",
        parts=parts(system=200, question=800),
        usage=UsageReport(input=1000, output=377, cached=prefix.get("reported")),
        prefix=Prefix(**fields | prefix),
    )


def clock(n, offset=212, **prefix):
    """A prompt whose system prompt has another time in it."""
    difference = Difference(part="system", offset=offset)
    return turn(
        n, **{"difference": difference, "lost": 700, "cause": "system", "reported": 0, **prefix}
    )


def kept(n):
    """A prompt that found what it expected."""
    return turn(n, reported=200, lost=0)


def read(*records, **given):
    """The misses over these."""
    return misses(records, prefill_costs(records), **given)


def table(found):
    """The rows of the table, without its notes."""
    return misses_table(found).rows


def test_a_clock_in_the_system_prompt_is_found():
    """On 41 of 187 prompts, at its character, with the tokens and seconds that it costs."""
    found = read(*(clock(n) for n in range(41)), *(kept(n) for n in range(41, 187)))
    (miss,) = found.causes
    (place,) = miss.places

    assert (found.compared, miss.prompts, miss.tokens) == (187, 41, 41 * 700)
    assert (place.part, place.offsets, place.prompts) == ("system", (212, 212), 41)
    assert miss.seconds.ns > 0
    (row,) = table(found)
    assert row[:3] == ("system prompt changed", "41", "28,700")
    assert row[-1] == "system, at character 212"


def test_seconds_are_tokens_by_what_one_costs():
    """700 tokens at the cost of this engine, an estimate as the cost is one."""
    miss = read(clock(1), clock(2)).causes[0]

    assert miss.seconds.ns == pytest.approx(1400 * NS_PER_TOKEN, rel=1e-6)
    assert miss.seconds.source.kind == "estimated"


def test_an_interval_stands_beside_seconds_that_have_one():
    """Where the cost of a token has an interval, so has what is lost."""
    figures = [(100 + 40 * n, 10 + 4 * n + n % 3) for n in range(30)]
    records = [
        record(
            id=f"r1-{n}",
            parts=parts(question=tokens),
            usage=UsageReport(input=tokens, cached=0),
            reported={"prompt_n": tokens, "prompt_ms": float(ms)},
            prefix=clock(n).prefix,
        )
        for n, (tokens, ms) in enumerate(figures)
    ]
    (miss,) = read(*records).causes
    low, high = miss.seconds.interval_ns

    assert low <= miss.seconds.ns < high
    assert miss.seconds.ns == pytest.approx(30 * 700 * 0.1 * MS, rel=0.1)


def test_without_a_cost_there_are_tokens_and_no_seconds():
    """A dash, and no zero."""
    bare = msgspec.structs.replace(
        clock(1), timings=msgspec.structs.replace(clock(1).timings, first_token_ns=None)
    )
    found = read(bare)

    assert (found.causes[0].tokens, found.causes[0].seconds) == (700, None)
    assert table(found)[0][3:5] == ("-", "-")


def test_differences_near_each_other_are_one_place():
    """Hours and seconds of one clock; a folder's name far behind is another place."""
    near = [clock(n, offset) for n, offset in enumerate((212, 218, 212 + NEAR))]
    (miss,) = read(*near, clock(9, 5000, lost=10)).causes

    assert [(p.offsets, p.prompts) for p in miss.places] == [((212, 276), 3), ((5000, 5000), 1)]
    assert [row[-1] for row in table(read(*near, clock(9, 5000)))] == [
        "",
        "system, at character 212 to 276",
        "system, at character 5,000",
    ]


def test_system_prompts_inside_messages_are_told_apart():
    """Character 5 of message 2 is not character 5 of message 9."""
    places = [Difference(part="system", message=m, offset=5) for m in (2, 9, 9)]
    (miss,) = read(*(clock(n, difference=d) for n, d in enumerate(places))).causes

    assert [(p.messages, p.prompts) for p in miss.places] == [((9, 9), 2), ((2, 2), 1)]


def test_many_places_are_summed():
    """The dearest are shown, the others counted."""
    found = read(*(clock(n, 1000 * n, lost=500 + n) for n in range(6)))
    rows = table(found)

    assert len(rows) == 1 + PLACES_SHOWN + 1
    assert rows[-1][-1] == "at 3 other places"
    assert rows[-1][1:3] == ("3", f"{500 + 501 + 502:,}")


def test_a_tool_that_moved_is_named():
    """The most frequent one, and how many others."""
    moved = [Difference(part="tools", tool=name, offset=3) for name in ("look", "look", "write")]
    found = read(*(clock(n, cause="tools", difference=d) for n, d in enumerate(moved)))

    assert table(found)[0][-1] == "tool look and 1 others"
    assert found.causes[0].places[0].tools == 2


def test_a_rewritten_history_has_its_messages():
    """From the first to the last message at which one was rewritten."""
    where = [Difference(part="history", message=m, offset=7) for m in (4, 2)]
    found = read(*(clock(n, cause="history rewritten", difference=d) for n, d in enumerate(where)))

    assert table(found)[0][-1] == "history, message 2 to 4, at character 7"


@pytest.mark.parametrize(("cause", "ages", "said"), [
    ("time-out", (400, 900), "nothing changed; 400 s to 900 s after the earlier one"),
    ("server", (8, 8), "nothing changed; 8.0 s after the earlier one"),
])  # fmt: skip
def test_a_stable_prefix_that_was_not_reused(cause, ages, said):
    """Shared, nothing differs, and less was cached than could have been: the server's doing."""
    records = [
        turn(n, shared=900, expected=900, reported=0, lost=900, cause=cause, parent_age_ns=age * S)
        for n, age in enumerate(ages)
    ]
    found = read(*records)

    assert found.causes[0].stable
    assert (found.expected, found.reported) == (1800, 0)
    assert table(found)[0][-1] == said


def test_another_model_has_no_place():
    """Its text is the same; there is nothing to point at, and it is no stable prefix."""
    (miss,) = read(turn(1, reported=0, lost=900, cause="model")).causes

    assert (miss.places, miss.stable) == ((), False)
    assert table(read(turn(1, reported=0, lost=900, cause="model")))[0][-1] == ""


def test_what_is_not_reported_is_unknown_and_counted():
    """Two prompts whose server is silent: no miss is made up, and their number is said."""
    found = read(kept(1), turn(2), turn(3))

    assert (found.causes, found.unreported) == ((), 2)
    assert (found.expected, found.reported) == (200, 200)
    assert "Of 2 prompts the server does not say what it cached" in " ".join(
        misses_table(found).notes
    )


def test_a_change_is_known_even_where_the_cache_is_not():
    """What the client changed could not have hit whatever the server keeps; it is marked."""
    (miss,) = read(clock(1, reported=None), clock(2)).causes

    assert (miss.prompts, miss.unreported) == (2, 1)


def test_the_dearest_cause_stands_first():
    """By tokens, and by name where they are even."""
    found = read(
        clock(1, lost=10),
        clock(2, cause="tools", lost=500),
        turn(3, cause="server", lost=500, reported=0),
    )

    assert [m.cause for m in found.causes] == ["server", "tools", "system"]
    assert found.tokens == 1010


def test_prompts_without_an_earlier_one_are_no_misses():
    """The first of a conversation, and one that was not compared at all."""
    found = read(record(prefix=Prefix(reported=0)), record(prefix=None), clock(1, reported=0))

    assert (found.first, found.compared) == (1, 1)


def test_a_refused_request_says_nothing_of_a_cache():
    """No answer began: what was lost there, nobody paid."""
    refused = msgspec.structs.replace(clock(1), generation="none", error_kind="http_error")

    assert read(refused).causes == ()
    assert misses_table(read(refused)) is None


def test_no_miss_is_said_as_well():
    """Prompts were compared and all went well: a line, no empty table."""
    found = misses_table(read(kept(1)))

    assert found.columns[0].title == "PREFIX MISSES: none"
    assert "Expected of a cache that keeps every prompt: 200 tokens; reported: 200 (100 %)." in (
        found.notes
    )


def test_exact_counts_win_over_a_samples():
    """Of a tenth of the journal: prompts and tokens are the whole one's, seconds are brought to it."""
    sample = (clock(1), clock(2))
    tallies = Tallies(causes={"system": Lost(20, 14_000), "model": Lost(1, 300)})
    found = read(*sample, tallies=tallies)
    whole = read(*sample)

    assert [(m.cause, m.prompts, m.tokens) for m in found.causes] == [
        ("system", 20, 14_000),
        ("model", 1, 300),
    ]
    assert found.causes[0].seconds.ns == pytest.approx(10 * whole.causes[0].seconds.ns, abs=1)
    assert found.causes[1].seconds is None


def test_the_report_takes_tallies_only_for_a_sample():
    """Where the records are all that there are, they are counted themselves."""
    tallies = Tallies(causes={"system": Lost(20, 14_000)})
    whole = Journal(records=(clock(1),), tallies=tallies)
    sampled = Journal(records=(clock(1),), tallies=tallies, sampling=Sampling(1, 20, 1, 20))

    assert overview(whole).misses.causes[0].prompts == 1
    assert overview(sampled).misses.causes[0].prompts == 20


def test_every_cause_has_words():
    """Those of the record, and no other."""
    assert set(CAUSES) == set(Cause.__args__)


def test_a_real_ledgers_clock():
    """As the recorder itself compares two prompts: the cause, the character and the tokens arrive here."""
    client = Client()
    now = "now it is {} o'clock " + words(500)
    first, second = (
        client.send(
            PromptPart("system", "system", now.format(hour)), *talk("q " + words(300)), cached=0
        )
        for hour in (10, 11)
    )
    (miss,) = read(first, second).causes

    assert miss.cause == "system"
    assert miss.places[0].offsets == (len("now it is 1"),) * 2
    assert miss.tokens == second.prefix.lost > 500
