"""The page: one file, all that comes from the journal as text, and the same figures as on the screen."""

from __future__ import annotations

import re

import msgspec
import pytest

from analysis.explain.overview import overview
from analysis.explain.scatter import MOST_DOTS, scatter
from analysis.explain.timeline import STRETCHES, timeline
from analysis.paging import Page, html, write_page
from analysis.render.page.bars import prompt_bar, turn_bars
from analysis.store.base import Journal, Sampling
from analysis.store.selection import EVERYTHING, Selection
from analysis.store.tallies import Tallies
from tests.support import journals, method
from tests.support.builders import MS, S, record, timings
from tests.support.findings import many
from tests.support.turnscope import run

EVIL = "<script>alert(1)</script>\x1b[31m\u202egpt" + "x" * 10_000


def made(journal, selection=EVERYTHING):
    """The page of a journal."""
    return html(Page(overview(journal), journal, selection))


@pytest.mark.parametrize(
    "name", ["field_report", "demo", "without_usage", "only_errors", "damaged"]
)
def test_every_journal_has_a_page(name):
    """With a headline, and below a megabyte."""
    page = made(getattr(journals, name)())

    assert '<p class="lead">' in page
    assert len(page.encode()) < 1_000_000


def test_the_field_reports_page_has_all_parts():
    """Each picture has a table beside it, and the first words are the headline's."""
    page = made(method.method())
    parts = re.findall(r'<section id="([a-z]+)"', page)

    assert parts == ["headline", "turn", "todo", "prompt", "scatter", "falls", "clock", "speed"]
    for part in page.split("<section")[1:]:
        if 'role="img"' in part:
            assert "<table" in part
    assert "The median of 31 turns took 16.1 s" in page
    assert "cut the 24 tools that were never called" in page
    assert "70 % of what is read before each answer is tools" in page


def test_names_of_others_are_text():
    """No tag, no escape code, no mark that turns the line around, wherever a name stands."""
    called = msgspec.structs.replace(
        record(model_served=EVIL, client=EVIL, label=EVIL),
        request=msgspec.structs.replace(record().request, model=EVIL),
    )
    page = made(Journal(records=(called,)), Selection(model=EVIL))

    assert "alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<script>") == 1
    assert not {"\x1b", "\u202e"} & set(page)


def test_the_page_fetches_nothing_and_runs_one_script():
    """Its policy forbids the rest, and the script is the one whose hash it names."""
    page = made(method.method())

    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!127\.0\.0\.1|10\.)[a-z]", page)
    assert not re.search(r'\b(src|href)="(?!data:,)', page)


def test_the_fixed_part_of_the_turn_does_not_move():
    """A faster engine shortens the answer alone; cut tools shorten the reading of tools alone."""
    as_it_is, cut, cached, faster = turn_bars(overview(method.method()))
    shares = [{p.kind: p.share for p in bar.pieces} for bar in (as_it_is, cut, cached, faster)]

    assert {k for k in shares[0] if shares[0][k] != shares[3].get(k)} == {"decode"}
    assert shares[3]["decode"] == pytest.approx(shares[0]["decode"] / 2, abs=1e-4)
    assert {k for k in shares[0] if shares[0][k] != shares[1].get(k)} == {"tools"}
    assert not {"tools", "system"} & set(shares[2])
    assert sum(shares[0].values()) == pytest.approx(1, abs=1e-3)


def test_each_tool_is_a_piece_of_the_prompt():
    """As wide as its tokens, pale if nobody called it; all of them fill the bar."""
    bar = prompt_bar(overview(method.method()))
    kinds = [piece.kind for piece in bar.pieces]

    assert (kinds.count("unused"), kinds.count("tools")) == (24, 7)
    assert sum(piece.share for piece in bar.pieces) == pytest.approx(1, abs=1e-3)


def test_a_large_journals_page_stays_small_and_says_so():
    """Dots are an even selection, and a sample is called one."""
    records = tuple(many(3_000))
    counted = Tallies(exchanges=1_000_000, turns=400_000, first_unix_ns=1, last_unix_ns=2)
    taken = Sampling(3_000, 1_000_000, 3_000, 400_000)
    page = made(Journal(records=records, tallies=counted, sampling=taken))
    seen = scatter(records, {})

    assert (len(seen.dots), seen.of) == (MOST_DOTS, 3_000)
    assert "Worked out from 3,000 of 1,000,000 exchanges" in page
    assert len(page.encode()) < 3_000_000


def test_the_clock_shows_every_peak():
    """Two at once for a moment, in hours of one at a time."""
    long = [
        record(id=f"r1-{n}", at_unix_ns=n * 100 * S, timings=timings(end_ns=50 * S))
        for n in range(1_000)
    ]
    short = record(id="r1-9999", at_unix_ns=50_010 * S, timings=timings(end_ns=100 * MS))
    seen = timeline([*long, short])
    peaks = [s.most_in_flight for s in seen.stretches]

    assert len(peaks) == STRETCHES
    assert (max(peaks), peaks.count(2)) == (2, 1)
    assert timeline([]) is None


def test_the_command_writes_it_whole_and_for_its_owner(tmp_path):
    """Beside the screen's text; what cannot be written is said, with status 2."""
    folder = method.write(tmp_path / "journal", method.method())
    path = tmp_path / "report.html"
    done = run("report", "--journal", str(folder), "--html", str(path))

    assert done.returncode == 0
    assert f"page: {path}" in done.stderr
    assert "WHERE THE MEDIAN TURN GOES" in done.stdout
    assert (
        path.read_text("utf-8").startswith("<!doctype html>")
        or "<!doctype html>" in path.read_text("utf-8")[:200]
    )
    assert path.stat().st_mode & 0o777 == 0o600
    away = run("report", "--journal", str(folder), "--html", str(tmp_path / "no" / "x.html"))
    assert away.returncode == 2
    assert "the page was not written" in away.stderr


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    """And nothing beside it."""
    journal = journals.demo()
    path = tmp_path / "report.html"
    write_page(path, Page(overview(journal), journal, EVERYTHING))
    before = path.read_bytes()

    with pytest.raises(OSError, match=r"."):
        write_page(tmp_path / "none" / "report.html", Page(overview(journal), journal, EVERYTHING))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
