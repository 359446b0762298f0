"""What would make a turn faster: each turn by the formula, then summarised; laws that hold for any turns."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.explain.asked import Switch
from analysis.explain.prefill import engine, prefill_costs
from analysis.explain.source import MEASURED, Refusal, Source
from analysis.explain.speedup import ceiling, whole_turn
from analysis.explain.turn_times import Decoded, Known, Saving, TurnTimes, turn_times
from analysis.explain.turns import threaded
from analysis.explain.whatif import decode_change, median_ceiling, switched, what_ifs
from analysis.render.whatif import switch_words
from proxy.journal.record import Prefix, Tools, UsageReport
from tests.support import method
from tests.support.builders import AT_UNIX_NS, MS, S, output, record, timings

ESTIMATED = Source("estimated", "from TTFT of 9 exchanges")
KINDS = ("prose", "code", "tool_call", "mixed", None)


def times(fixed_s, *decodes, **savings):
    """A turn of so many seconds that are no decode, and answers as (seconds, kind)."""
    each = tuple(Decoded(round(s * S), kind) for s, kind in decodes)
    whole = round(fixed_s * S) + sum(d.ns for d in each)
    return TurnTimes(whole, each, hidden=Saving(0, None, MEASURED), **savings)


def known(records, sets=None, unused=()):
    """What a selection of these records says."""
    return Known(prefill_costs(records), sets or {}, set(unused))


def line(name, turns):
    """The gain of one line of the table."""
    return {each.name: each.gain for each in what_ifs(turns)}[name]


positive = st.floats(min_value=0.05, max_value=50)
seconds = st.floats(min_value=0, max_value=1000)
answers = st.lists(st.tuples(seconds, st.sampled_from(KINDS)), min_size=1, max_size=5)
turn_lists = st.lists(
    st.builds(lambda fixed, decodes: times(fixed, *decodes), positive, answers),
    min_size=1,
    max_size=8,
)
factors = st.floats(min_value=1, max_value=1e6)
switches = st.builds(
    Switch,
    by_kind=st.dictionaries(st.sampled_from(KINDS[:4]), factors, max_size=4),
    other=factors,
    measured=st.sampled_from(["before", "after"]),
)


@given(turn_lists, switches)
def test_no_faster_decode_makes_a_turn_slower(turns, switch):
    """A factor of 1 or more never costs time, on either side, for any mix of answers."""
    for turn in turns:
        change = decode_change(turn, switch)
        assert change is None or change.slow_ns >= change.fast_ns * (1 - 1e-9)


@given(turn_lists, st.sampled_from(["before", "after"]))
def test_a_factor_of_one_saves_nothing(turns, measured):
    """S = 1 is no switch."""
    for turn in turns:
        change = decode_change(turn, Switch(measured=measured))
        assert change is None or change.slow_ns == pytest.approx(change.fast_ns)


@given(turn_lists, switches)
def test_the_ceiling_bounds_every_factor(turns, switch):
    """No switch makes a turn more than (F + D) / F times as fast, D being that of its slow side."""
    for turn in turns:
        change = decode_change(turn, switch)
        if change is not None:
            assert change.slow_ns / change.fast_ns <= change.slow_ns / turn.fixed_ns * (1 + 1e-9)


@given(turn_lists, switches)
def test_before_and_after_are_inverse(turns, switch):
    """Told of the slow journal what is to come, or of the fast one what has been: it is the same factor."""
    for turn in turns:
        forward = decode_change(turn, Switch(switch.by_kind, switch.other, "before"))
        if forward is None:
            continue
        shorter = tuple(Decoded(d.ns / switch.s(d.kind), d.kind) for d in turn.decodes)
        fast = TurnTimes(turn.fixed_ns + sum(d.ns for d in shorter), shorter)
        back = decode_change(fast, Switch(switch.by_kind, switch.other, "after"))
        assert forward.slow_ns == pytest.approx(back.slow_ns)
        assert forward.fast_ns == pytest.approx(back.fast_ns)


@given(turn_lists)
def test_the_table_saves_no_less_than_nothing_and_no_more_than_the_turn(turns):
    """Every line of the table lies between nothing and the whole turn."""
    for each in what_ifs(turns):
        if not isinstance(each.gain, Refusal):
            saved, longest = each.gain.saved_ns, max(turn.whole_ns for turn in turns)
            ends = [0, saved.low, saved.median, saved.high, longest]
            # Interpolation is arithmetic of floats: off by less than a ns in an hour.
            assert all(low <= high + 1e-3 for low, high in pairwise(ends))


@given(positive, positive, st.floats(min_value=0.1, max_value=100))
def test_one_answer_is_the_whole_turn_formula(fixed, decode, s):
    """A turn of one exchange goes through `whole_turn` as it is."""
    turn = times(fixed, (decode, "prose"))
    for measured in ("before", "after"):
        change = decode_change(turn, Switch(other=s, measured=measured))
        expected = whole_turn(turn.fixed_ns, turn.decode_ns, s, measured)
        assert change.slow_ns / change.fast_ns == pytest.approx(expected)


def test_each_answer_has_the_factor_of_its_kind():
    """3 s of code at 3 x and 2 s of prose as before: 10 s become 8."""
    turn = times(5, (3, "code"), (2, "prose"))
    found = switched([turn], Switch(by_kind={"code": 3.0}))

    assert found.gain.saved_ns.median == pytest.approx(2 * S)
    assert found.gain.speedup.median == pytest.approx(10 / 8)
    assert found.unnamed_turns == 1


def test_after_the_switch_the_slow_side_is_longer():
    """The same turn on the fast side was 16 s long before: 3 s of code took 9."""
    found = switched([times(5, (3, "code"), (2, "prose"))], Switch({"code": 3.0}, 1.0, "after"))

    assert found.gain.saved_ns.median == pytest.approx(6 * S)
    assert found.gain.speedup.median == pytest.approx(16 / 10)


def test_turns_are_summarised_and_not_averaged():
    """The median of the turns' factors is not the factor of their mean turn, nor that of their sum."""
    turns = [times(1, (9, "prose")), times(9, (1, "prose")), times(2, (8, "prose"))]
    found = switched(turns, Switch(other=2.0)).gain

    assert found.speedup.median == pytest.approx(10 / 6)
    assert found.total_speedup == pytest.approx(30 / 21)
    assert (found.speedup.low, found.speedup.high) == pytest.approx(
        ((10 / 9.5 + 10 / 6) / 2, (10 / 6 + 10 / 5.5) / 2)
    )
    assert found.total_saved_ns == 9 * S


def test_turns_without_decode_time_are_left_out():
    """A reply in one piece says nothing of decode: the line says over how many turns it is."""
    silent = TurnTimes(10 * S, None)

    assert line("decode x 2", [times(5, (5, None)), silent]).turns == 1
    assert isinstance(line("decode x 2", [silent]), Refusal)
    assert switched([silent], Switch(other=2)).ceiling is None


def test_a_free_decode_is_the_ceiling():
    """What a decode that costs nothing brings is (F + D) / F."""
    turn = times(6.084, (10.003, "prose"))

    assert line("decode free", [turn]).speedup.median == pytest.approx(ceiling(6.084, 10.003))
    assert median_ceiling([turn]) == pytest.approx(ceiling(6.084, 10.003))
    assert median_ceiling([times(0, (5, None))]) == inf


def test_an_interval_is_that_of_the_cost():
    """The cost of a token is off in the same direction everywhere: the ends are medians of ends."""
    turns = [
        times(10, (1, None), prefill=Saving(n * S, (n * S * 0.9, n * S * 1.2), ESTIMATED))
        for n in (4, 5, 6)
    ]
    found = line("prefill x 2", turns)

    assert found.saved_ns.median == 2.5 * S
    assert found.interval_ns == (2_250_000_000, 3_000_000_000)
    assert line("decode x 2", turns).interval_ns is None


def test_the_prefill_of_a_turn_is_that_of_all_its_exchanges():
    """Two requests of one turn: their decodes and their prefills are added."""
    first, second = (
        record(id=f"r1-{n}", turn="t", at_unix_ns=AT_UNIX_NS + n * 20 * S, tools=None)
        for n in (1, 2)
    )
    (turn,) = threaded([first, second])
    found = turn_times(turn, known([first, second]))

    assert found.decode_ns == 2 * 10_002 * MS
    assert found.whole_ns == 20 * S + 16_089 * MS
    assert found.prefill.ns == pytest.approx(2 * 6_084 * MS, rel=1e-3)


def test_unused_tools_are_their_share_of_the_tools():
    """24 of 31 tools hold 5,118 of 6,603 tokens, so of the seconds of the tools."""
    turn = method.turn(0)
    held = known(
        [turn], {method.TOOL_SET.set_hash: method.TOOL_SET}, {t.name for t in method.UNUSED}
    )
    found = turn_times(threaded([turn])[0], held)

    assert found.unused_tools.ns == pytest.approx(5_118 / 9_459 * 6_084 * MS, rel=1e-3)


def test_a_list_of_tools_that_is_not_there_is_not_known():
    """Its tools may all have been used, or none: the turn is in no line about them."""
    (turn,) = threaded([record(tools=Tools(set_hash="gone", count=3, tokens=9))])
    found = turn_times(turn, known(turn.exchanges))

    assert found.unused_tools is None
    assert isinstance(line("no unused tools", [found]), Refusal)


@pytest.mark.parametrize(
    ("prefix", "tokens"),
    [
        (None, 6_603 + 1_509 + 1_310),
        (Prefix(expected=9_000), 9_000),
        (Prefix(expected=20_000), 9_459),
        (Prefix(), 0),
    ],
    ids=["not compared", "compared", "more than the prompt", "nothing remembered"],
)
def test_a_full_cache_spares_what_was_sent_before(prefix, tokens):
    """What the proxy saw again where prompts were compared; else all but the question."""
    (turn,) = threaded([record(prefix=prefix, usage=UsageReport(input=9459, output=377, cached=0))])
    found = turn_times(turn, known(turn.exchanges))

    assert found.cacheable.ns == pytest.approx(tokens / 9_459 * found.prefill.ns)


def test_without_any_cost_nothing_is_said_of_prefill():
    """No bill and no count: the lines on prompts are refused with a reason, those on decode are not."""
    bare = record(parts=[], tools=None, usage=UsageReport())
    found = turn_times(threaded([bare])[0], known([bare]))
    lines = {each.name: each.gain for each in what_ifs([found])}

    assert isinstance(lines["prefill x 2"], Refusal)
    assert isinstance(lines["full cache hits"], Refusal)
    assert lines["decode x 2"].turns == 1


def test_hidden_requests_in_the_way_are_time_of_the_turn():
    """A title that runs in the client's pause of 4 s takes 3 s of it."""
    first = record(id="r1-1", turn="t", tools=None)
    second = record(id="r1-3", turn="t", at_unix_ns=AT_UNIX_NS + 16_089 * MS + 4 * S, tools=None)
    title = record(
        id="r1-2",
        kind="hidden",
        at_unix_ns=AT_UNIX_NS + 16_089 * MS + S // 2,
        timings=timings(
            first_token_ns=S, first_visible_text_ns=S, last_token_ns=2 * S, end_ns=3 * S
        ),
        output=output(),
    )
    (turn,) = threaded([first, title, second])
    found = turn_times(turn, known([first, title, second]))

    assert found.hidden.ns == 3 * S
    assert line("no hidden requests", [found]).saved_ns.median == 3 * S


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ("before", "An engine with 2 x the decode speed would make this turn 1.45 x as fast"),
        ("after", "The switch to 2 x the decode speed made this turn 1.62 x as fast"),
    ],
)
def test_the_words_say_on_which_side_the_turns_ran(measured, said):
    """What is to come would make turns faster; what has been made them so."""
    text, source = switch_words(
        switched([times(6.084, (10.003, None))], Switch(other=2.0, measured=measured))
    )

    assert said in text
    assert ("slow side" if measured == "before" else "fast side") in source


def test_a_switch_on_turns_without_decode_is_refused_in_words():
    """The reason is said instead of a factor."""
    text, _ = switch_words(switched([TurnTimes(S, None)], Switch(by_kind={"code": 2.0})))

    assert "is not known: no turn's decode time was seen." in text


def test_an_engine_of_a_record_is_the_one_that_is_paid():
    """Costs are of one engine: a turn of two has each exchange's own."""
    cheap, dear = record(id="r1-1", turn="t"), record(id="r1-2", turn="t", model_served="other")
    (turn,) = threaded([cheap, dear])

    assert len({engine(r) for r in turn.exchanges}) == 2
    assert turn_times(turn, known([cheap, dear])).prefill is not None
