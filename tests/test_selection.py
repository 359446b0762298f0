"""A choice of exchanges: what each word takes, in SQL as in Python, and how a date is read."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.filters import Moment, selecting, words
from analysis.store.contents import in_order
from analysis.store.duck import DuckStore
from analysis.store.selection import EVERYTHING, Selection
from proxy.journal.lines import encode
from proxy.journal.record import Request
from tests.support.builders import AT_UNIX_NS, S, record
from tests.support.damage import examples
from tests.support.segments import journals, put
from tests.support.turnscope import SEGMENT, run

texts = st.sampled_from([None, "home", "http://a", "qwen", "QWEN-", "t1", "", "%"])
times = st.sampled_from([None, AT_UNIX_NS - 9 * S, AT_UNIX_NS, AT_UNIX_NS + 5 * S])
selections = st.builds(
    Selection,
    since_unix_ns=times,
    until_unix_ns=times,
    route=texts,
    label=texts,
    client=texts,
    model=texts,
    thread=texts,
    turns_only=st.booleans(),
)


@examples(0.3)
@given(journals(), selections)
def test_sql_takes_what_the_selection_takes(records, selection):
    """Over any journal and any choice."""
    with TemporaryDirectory() as name:
        put(Path(name), *map(encode, records))

        journal = DuckStore(Path(name)).journal(selection)

    assert in_order(r for r in records if selection.takes(r)) == journal.records
    assert journal.tallies.exchanges == len(journal.records)


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        (Selection(), True),
        (Selection(since_unix_ns=AT_UNIX_NS), True),
        (Selection(since_unix_ns=AT_UNIX_NS + 1), False),
        (Selection(until_unix_ns=AT_UNIX_NS), False),
        (Selection(until_unix_ns=AT_UNIX_NS + 1), True),
        (Selection(route="127.0.0.1:8080"), True),
        (Selection(route="home"), True),
        (Selection(route="http://127.0.0.1:8000"), True),
        (Selection(route="hom"), False),
        (Selection(label="home"), True),
        (Selection(label="127.0.0.1:8080"), False),
        (Selection(client="CHAT"), True),
        (Selection(client="other"), False),
        (Selection(model="27B"), True),
        (Selection(thread="t"), False),
        (Selection(turns_only=True), True),
        (Selection(route="home", model="glm"), False),
    ],
)
def test_each_word_takes_what_it_says(selection, taken):
    """Routes to the letter, clients and models by a piece of their name, both ends of a time."""
    assert taken == selection.takes(record())


def test_a_model_is_the_one_that_served():
    """The one asked for counts only where none is said to have served."""
    asked = record(request=Request(method="POST", path="/", model="a"), model_served="b")

    assert not Selection(model="a").takes(asked)
    assert Selection(model="b").takes(asked)


@pytest.mark.parametrize(
    ("text", "unix_ns"),
    [
        ("1970-01-02T00:00:00+00:00", 86_400 * S),
        ("1970-01-01T00:00:00.000001Z", 1_000),
    ],
)
def test_a_date_is_read_to_the_microsecond(text, unix_ns):
    """With its zone."""
    assert unix_ns == Moment().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1_800), ("12h", 43_200), ("3d", 259_200), ("2w", 1_209_600)]
)
def test_so_long_ago_is_counted_from_now(text, seconds):
    """Minutes, hours, days and weeks."""
    assert abs(time.time_ns() - seconds * S - Moment().convert(text, None, None)) < 60 * S


@pytest.mark.parametrize("text", ["", "3", "3y", "yesterday", "-3d", "999999w", "2026-13-01"])
def test_what_is_no_date_is_refused_with_what_one_looks_like(text):
    """In one sentence."""
    with pytest.raises(click.BadParameter, match="is no date; write one like 2026-11-01"):
        Moment().convert(text, None, None)


def test_all_flags_become_one_selection():
    """A command that is decorated gets them as `selection`."""
    got = []
    command = click.command()(selecting(lambda **given: got.append(given["selection"])))
    given_flags = ["--since", "1970-01-01T00:00:01Z", "--until", "1970-01-01T00:00:02Z"]
    given_flags += ["--route", "r", "--label", "l", "--client", "c", "--model", "m"]

    command.main([*given_flags, "--thread", "t", "--turns-only"], standalone_mode=False)
    command.main([], standalone_mode=False)

    assert [Selection(S, 2 * S, "r", "l", "c", "m", "t", turns_only=True), EVERYTHING] == got


def test_a_choice_is_said_with_its_zone():
    """As the page and the empty answer say it."""
    said = words(Selection(since_unix_ns=0, model="qwen", turns_only=True))

    assert said.startswith("since 19")
    assert said.split(", ")[1:] == ["model qwen", "turns only"]
    assert words(EVERYTHING) == ""


def test_nothing_of_what_was_asked_for_says_what_there_is(tmp_path):
    """In one sentence on stderr, status 1; hostile names do no harm."""
    (tmp_path / SEGMENT).write_bytes(encode(record(model_served="\x1b[31m<script>" + "x" * 10_000)))

    done = run("report", "--journal", tmp_path, "--model", "glm")

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith(
        "turnscope: nothing was recorded that is model glm. The journal has 1 exchange from 2026-09-21 "
    )
    assert "routes: home -> http://127.0.0.1:8000; models: \\u001b[31m<script>xxx" in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr) < 600
