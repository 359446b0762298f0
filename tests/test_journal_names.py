"""Names of a journal's files: which are ours, to the letter."""

from __future__ import annotations

import pytest

from proxy.journal.names import DAY_NS, dated, run_began_unix_ns, tool_set_hash


@pytest.mark.parametrize(
    ("name", "sort"),
    [
        ("2026-09-21-9-1.jsonl", "records"),
        ("2026-09-21-12345-678.parquet", "records"),
        ("loss-2026-09-21-9-1.jsonl", "losses"),
        ("gauge-2026-09-21-9-1.jsonl", "gauge"),
    ],
)
def test_a_name_of_ours_has_a_sort_and_a_day(name: str, sort: str):
    """From 00:00 UTC of its date to the next."""
    named = dated(name)

    assert named is not None
    assert (named.sort, named.end_unix_ns - named.begin_unix_ns) == (sort, DAY_NS)
    assert named.begin_unix_ns == 1_789_948_800 * 10**9


@pytest.mark.parametrize(
    "name",
    [
        *("2026-09-21-9.jsonl", "2026-09-21-9-1.json", "2026-09-21-9-1.jsonl.bak", "x.jsonl"),
        *("2026-13-01-9-1.jsonl", "2026-02-30-9-1.jsonl", "2026-09-21-٩-1.jsonl", "2026-09-21-9-1.jsonl\n"),
        *("lost-2026-09-21-9-1.jsonl", ".2026-09-21-9-1.jsonl", "my-2026-09-21-9-1.jsonl", ""),
        *("tools-abc.json", "tools-0123456789ABCDEF.json", "tools-0123456789abcdef.jsonl"),
    ],
)  # fmt: skip
def test_other_names_are_not_ours(name: str):
    """To the letter: a date that is no day, other digits, something in front or behind."""
    assert (dated(name), tool_set_hash(name)) == (None, None)


def test_a_run_is_named_by_its_beginning():
    """And one of another shape does not say when it began."""
    assert run_began_unix_ns("19700102T000001-77") == DAY_NS + 10**9
    assert [run_began_unix_ns(run) for run in ("r1", "19701332T000001-7", "")] == [None] * 3
