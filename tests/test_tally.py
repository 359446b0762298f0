"""The rules of the measured names: what moves the clock, which count holds, what is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.base import ReplyReading, Usage
from proxy.dialects.tally import TEXT_BOUND, Tally
from proxy.wire.exchange import Note


def events(*steps, status=200):
    """A tally after events at 10, 20, ... ns; a step is what a dialect does in one event."""
    tally = Tally(status)
    for n, step in enumerate(steps, 1):
        tally.begin(n * 10)
        step(tally)
        tally.end()
    return tally


def read(*steps, status=200):
    """The reading of a stream of events."""
    return events(*steps, status=status).reading(streamed=True)


def nothing(_tally):
    """An event without output: an opener, a ping, progress."""


def says(text, channel="text"):
    """An event with output."""
    return lambda tally: tally.add(channel, text)


def bills(output, prompt=None, *, final=False):
    """An event with usage."""
    return lambda tally: tally.bill(Usage(input=prompt, output=output), final=final)


def both(*steps):
    """Several things in one event."""
    return lambda tally: [step(tally) for step in steps]


def finishes(reason=None):
    """An event that ends the generation."""
    return lambda tally: tally.finish(reason)


def test_nothing_at_all():
    """A reply of which nothing came says nothing: every field is None or empty."""
    assert Tally(200).reading(streamed=False) == ReplyReading()


def test_only_output_moves_the_token_times():
    """Openers, empty strings and usage are events and no tokens, before, between and behind them."""
    reading = read(
        nothing, says(""), says("a"), nothing, bills(5), says("b"), says("", "reasoning"), bills(9), finishes()
    )  # fmt: skip

    assert reading.first_event_ns == 10
    assert (reading.first_token_ns, reading.last_token_ns) == (30, 60)
    assert reading.token_event_ns == (30, 60)
    assert reading.terminal_event_ns == 90


def test_each_channel_has_its_first_time():
    """The first token is that of any channel; a refusal is visible as text is."""
    reading = read(says("a", "reasoning"), says("b", "tool_call"), says("c", "refusal"), says("d"))

    assert reading.first_token_ns == 10
    assert reading.first_reasoning_ns == 10
    assert reading.first_tool_call_ns == 20
    assert reading.first_visible_text_ns == 30


def test_text_before_a_refusal_is_the_first_visible():
    """Of text and refusal the earlier one counts."""
    assert read(says("a"), says("b", "refusal")).first_visible_text_ns == 10


def test_one_event_counts_once():
    """An event with output in two channels is one token event; two events of one read are two."""
    tally = Tally(200)
    for _ in range(2):
        tally.begin(10)
        tally.add("text", "a")
        tally.add("reasoning", "b")
        tally.end()

    assert tally.reading(streamed=True).token_event_ns == (10, 10)


def test_a_whole_body_has_no_times():
    """What was not streamed has counts, text and a reason, and not a single time."""
    tally = Tally(200)
    tally.begin(None)
    both(says("abc"), bills(7, 12), finishes("stop"))(tally)
    tally.call("look")
    tally.end()

    reading = tally.reading(streamed=False)

    assert reading == ReplyReading(
        usage=Usage(input=12, output=7),
        output_source="usage",
        finish_reason="stop",
        called=("look",),
        text="abclook",
    )


class TestUsageLadder:
    """Usage, then timings, then a running count; never a sum, never the events."""

    def test_the_last_usage_wins(self):
        """Running totals are not added up."""
        reading = read(bills(1), both(says("a"), bills(4)), both(finishes("stop"), bills(9)))

        assert (reading.usage.output, reading.output_source) == (9, "usage")

    def test_usage_behind_the_finish_is_final(self):
        """A bill in an event of its own behind the finish is the bill."""
        assert read(says("a"), finishes("stop"), bills(3)).output_source == "usage"

    def test_usage_said_to_be_final_is(self):
        """A dialect may know that it is no running count."""
        assert read(says("a"), bills(3, final=True)).output_source == "usage"

    def test_a_stream_that_was_cut_has_a_running_count(self):
        """Without a finish the last count is the last that was said, under its own name."""
        reading = read(both(says("a"), bills(1)), both(says("b"), bills(3)))

        assert (reading.usage.output, reading.output_source) == (3, "continuous usage")

    def test_timings_stand_above_a_running_count(self):
        """The server's own timings are more than a running total that was cut off."""
        timed = Usage(output=4, cached=2)
        reading = read(both(says("a"), bills(3)), lambda tally: tally.timed(timed))

        assert (reading.usage.output, reading.output_source) == (4, "timings")

    def test_usage_stands_above_timings_field_by_field(self):
        """The bill holds where it speaks; timings fill what it leaves out."""
        timed = Usage(input=31, output=4, cached=9)
        reading = read(says("a"), finishes("stop"), lambda tally: tally.timed(timed), bills(3, 30))

        assert reading.usage == Usage(input=30, output=3, cached=9)
        assert reading.output_source == "usage"

    def test_usage_comes_in_parts(self):
        """A later bill without a field leaves that of an earlier one."""
        reading = read(bills(1, 14), both(says("a"), bills(None)), both(finishes("end"), bills(5)))

        assert reading.usage == Usage(input=14, output=5)

    def test_a_zero_beside_an_answer_is_no_bill(self):
        """Zeroes of a gateway that knows nothing are left out, with one note however often asked."""
        tally = events(says("a"), finishes("stop"), bills(0, 0))

        readings = [tally.reading(streamed=True) for _ in range(2)]

        for reading in readings:
            assert (reading.usage, reading.output_source) == (Usage(), None)
            assert [note.code for note in reading.notes] == ["usage_zero"]

    def test_a_zero_without_an_answer_is_one(self):
        """Where nothing was generated zero is the truth, and not null."""
        reading = read(finishes("stop"), bills(0, 12))

        assert (reading.usage, reading.output_source) == (Usage(input=12, output=0), "usage")
        assert reading.notes == ()


class TestK1:
    """Tokens of the first token event: only where the server says so."""

    def test_from_running_usage(self):
        """The running total in the first token event, whatever was before it."""
        assert read(bills(0), both(says("a"), bills(3)), both(says("b"), bills(5))).k1 == 3

    def test_usage_may_stand_before_the_text_of_its_event(self):
        """The order within an event does not matter."""
        assert read(both(bills(2), says("a"))).k1 == 2

    def test_from_timings(self):
        """Timings of each token say it too, below usage."""
        timed = Usage(output=2)
        assert read(both(says("a"), lambda tally: tally.timed(timed))).k1 == 2
        assert read(both(says("a"), bills(3), lambda tally: tally.timed(timed))).k1 == 3

    def test_from_the_tokens_of_each_event(self):
        """Tokens whose text was held back count to the first event that shows some."""
        drew = [lambda tally: tally.drew(1), both(says("a"), lambda tally: tally.drew(2))]
        assert read(*drew, both(says("b"), lambda tally: tally.drew(5))).k1 == 3

    def test_a_later_count_says_nothing_of_the_first_event(self):
        """A count that comes later, or a zero, leaves it unknown."""
        assert read(says("a"), both(says("b"), bills(5))).k1 is None
        assert read(both(says("a"), bills(0))).k1 is None


def test_the_first_finish_is_kept():
    """Of several ends the first has the time, the first reason the word."""
    reading = read(finishes(), finishes("stop"), finishes("length"))

    assert (reading.terminal_event_ns, reading.finish_reason) == (10, "stop")


def test_output_takes_a_finish_back():
    """One that was told too early is as if it had not been: a later one counts, and so does the bill."""
    early = both(says("a"), finishes("stop"), bills(1))
    later = both(Tally.resume, says("b"), bills(2))

    assert read(early, later).terminal_event_ns is None
    assert read(early, later).finish_reason is None
    assert read(early, later).output_source == "continuous usage"
    assert read(early, later, finishes("length")).terminal_event_ns == 30
    assert read(early, later, finishes("length")).finish_reason == "length"


def test_calls_are_output():
    """The name of a call is a token, and a call is counted each time."""
    reading = read(lambda tally: tally.call("a"), lambda tally: tally.call("a"))

    assert reading.called == ("a", "a")
    assert reading.first_tool_call_ns == 10
    assert reading.text == "aa"


@pytest.mark.parametrize(
    ("status", "inside"), [(200, True), (299, True), (400, False), (500, False)]
)
def test_an_error_inside_a_good_reply_is_told(status, inside):
    """The first name of an error is kept; below 400 it came inside a reply that had begun well."""
    reading = read(
        lambda tally: tally.error(None),
        lambda tally: tally.error("overloaded"),
        lambda tally: tally.error("again"),
        status=status,
    )

    assert (reading.error_type, reading.error_event) == ("overloaded", inside)


def test_a_note_is_kept_once():
    """The first of a code stands for all."""
    reading = read(*[lambda tally, n=n: tally.note("odd", f"event {n}") for n in (1, 2)])

    assert reading.notes == (Note("odd", "event 1"),)


def test_text_is_bounded():
    """Text beyond the bound is left out with a note; times go on. The bound itself is not beyond."""
    half = "x" * (TEXT_BOUND // 2)
    reading = read(says(half), says(half), says("more"))

    assert len(reading.text) == TEXT_BOUND
    assert [note.code for note in reading.notes] == ["text_bounded"]
    assert reading.last_token_ns == 30
    assert read(says(half), says(half)).notes == ()


steps = st.sampled_from(
    [nothing, says("a"), says("b", "reasoning"), says(""), bills(3), bills(0), finishes("stop")]
)


@given(st.lists(steps))
def test_what_holds_for_every_stream(chosen):
    """Times are in order, events are counted once, and null goes with null."""
    reading = read(*chosen)

    times = reading.token_event_ns
    assert list(times) == sorted(set(times))
    assert (reading.first_token_ns, reading.last_token_ns) == (
        (times[0], times[-1]) if times else (None, None)
    )
    assert (reading.usage.output is None) == (reading.output_source is None)
    assert bool(reading.text) == bool(times)
    assert reading.k1 is None or times
