"""`turnscope explain`: which exchange it shows, and the screen and the JSON that it makes."""

from __future__ import annotations

import re
from datetime import UTC

import msgspec
import orjson
import pytest

from analysis.explain.explained import Choice, NoChoice, explained, last, named, worst
from analysis.render.explain_data import explain_json, nothing_json
from analysis.render.explain_screen import MARK_NAMES, explain_text, nothing_to_explain
from analysis.render.notes import MEANINGS
from analysis.render.screen import Screen
from analysis.store.base import Journal
from proxy.journal.lines import encode
from proxy.journal.record import Load, Output, Record, Self, Timings, UsageReport
from tests.support import journals, loops
from tests.support.builders import MS, record
from tests.support.golden import assert_golden
from tests.support.loops import agent, asked, failed, hostile, titled
from tests.support.pages import page
from tests.support.turnscope import SEGMENT, run


def of(records, name):
    """What is said of the exchange of this id."""
    return explained(named(records, name), records)


def text(records, name, **screen):
    """The screen of it, in Greenwich."""
    return explain_text(of(records, name), Screen(zone=UTC, **screen))


SHOWN = {
    "agent": (loops.agent, "r1-4"),
    "field_report": (journals.field_report, "r1-1"),
    "demo": (journals.demo, "demo-3"),
    "hidden": (loops.agent, "r1-2"),
    "refused": (loops.agent, "r1-3"),
    "without_usage": (journals.without_usage, "r1-1"),
    "hostile": (loops.hostile, "r1-1"),
}
every_screen = pytest.mark.parametrize("which", SHOWN)


@every_screen
def test_the_screen_is_the_golden_one(which):
    """What a person sees."""
    journal, name = SHOWN[which]

    assert_golden(f"explain_{which}.txt", text(journal().records, name))


@pytest.mark.parametrize("which", ["agent", "field_report"])
def test_the_json_is_the_golden_one(which):
    """What a program reads: shape, order and figures are a promise."""
    journal, name = SHOWN[which]

    assert_golden(f"explain_{which}.json", explain_json(of(journal().records, name)).decode())


@every_screen
@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits_the_screen(which, width):
    """No line is wider, none ends in blanks, and nothing in it is an escape."""
    journal, name = SHOWN[which]
    said = text(journal().records, name, width=width)

    assert max(map(len, said.split("\n"))) <= width
    assert [line for line in said.split("\n") if line != line.rstrip()] == []
    assert re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", said) is None


def test_colour_adds_nothing_to_the_words():
    """With colour there are escapes, and the same words."""
    plain, coloured = (text(agent().records, "r1-4", colour=c) for c in (False, True))

    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == plain.split()


def test_an_exchange_is_found_by_its_end():
    """The report shows ids without their run; a name that several end with is not guessed."""
    records = agent().records

    assert named(records, "4") == named(records, "r1-4")
    assert named(records, "r1-1").record.id == "r1-1"
    two = named((*records, record(id="r2-4")), "4")
    assert two.near == ("r1-4", "r2-4")


def test_an_unknown_id_names_those_that_are_near():
    """With how many there are, and from which to which."""
    missing = named(agent().records, "r1-44")

    assert missing.reason == "There is no exchange of this id among 5: r1-0 to r1-4."
    assert "r1-4" in missing.near
    assert nothing_to_explain(missing).startswith(f"{missing.reason} There is:\n  r1-4\n")
    assert orjson.loads(nothing_json(missing))["near"][0] == missing.near[0]
    assert named((), "x").reason == "No exchange has been recorded."


def test_an_unknown_id_of_a_megabyte_is_answered():
    """It is neither repeated nor compared in full."""
    assert len(nothing_to_explain(named(agent().records, "x" * 2**20))) < 200


def test_the_last_turn_is_the_one_that_began_last():
    """Its last exchange, however many hidden ones follow."""
    records = (*agent().records, titled(8, 100, 1))

    assert last(records) == Choice(named(records, "r1-4").record, "the last turn of 2")
    assert last(agent().records[:1]).how == "the only turn"


def test_the_worst_turn_is_the_slowest_that_ended():
    """By its whole: the agent's 12 s; a refused turn of 50 s brought nothing."""
    refused = failed(asked(7, -900, 50, turn="r1-7"))
    long_wait = asked(8, -800, 11, turn="r1-8")
    records = (*agent().records, refused, long_wait)

    assert worst(records, "whole").record.id == "r1-1"
    assert worst(records, "whole").how == "in the slowest of 3 turns, by whole duration"
    assert worst(records, "ttft").record.id == "r1-8"
    assert worst(records, "ttft").how == "the longest wait for a first token of 3 turns"


def test_only_errors_have_a_worst_one_too():
    """It says that none came to its end."""
    records = journals.only_errors().records

    assert worst(records, "whole").how.endswith(
        "of 3 turns, none of which came to its end, by whole duration"
    )
    assert worst(records, "ttft").reason.startswith("No turn has a time to its first token.")
    assert "no answer came" in text(records, "r1-2")


def test_a_journal_without_turns_says_what_it_has():
    """Hidden requests and lists of models are no turns."""
    records = (titled(1, 0, 1), record(id="r1-9", kind="not_generation", generation="none"))

    for missing in (last(records), worst(records, "whole"), worst(records, "ttft")):
        assert isinstance(missing, NoChoice)
        assert missing.near == ("r1-1", "r1-9")
    assert last(()).reason == "No exchange has been recorded."


def test_what_is_no_turn_is_shown_alone():
    """A list of models: no turn, no waterfall, and its time has a name."""
    shown = of((record(kind="not_generation", generation="none"),), "r1-1")
    said = explain_text(shown, Screen(zone=UTC))

    assert (shown.turn, shown.waterfall) == (None, None)
    assert "no model was asked for output" in said
    assert "WHERE ITS TIME WENT" in said


def test_an_exchange_of_nothing():
    """All that may be null is: every line says that it is not known."""
    bare = Record(
        id="r1-1", at_unix_ns=0, route="r", upstream="u", peer="p", kind="turn", dialect="opaque",
        request=record().request.__class__(method=None, path=None), timings=Timings(end_ns=0),
        output=Output(), usage=UsageReport(), counting=record().counting.__class__(), load=Load(),
        self=Self(), outcome="proxy_killed", error_kind="proxy", generation="none",
    )  # fmt: skip
    said = " ".join(text((bare,), "r1-1").split())

    for words in ("none offered", "the server billed nothing", "not known", "nothing measured"):
        assert words in said


def test_notes_are_explained_in_words():
    """A known code by its meaning; one of a later version by where to look."""
    said = " ".join(text(agent().records, "r1-4").split())

    assert f"count_mismatch: prompt, 9459 billed: {MEANINGS['count_mismatch']}" in said
    assert "from_tomorrow: somewhere (see docs/journal.md)" in said


def test_meanings_are_those_of_the_page():
    """docs/journal.md and the screen say the same of each code."""
    rows = {code.strip("`"): text for code, text in page("docs/journal.md").rows("Note codes")}
    links = re.compile(r", see \[[^\]]*\]\([^)]*\)|\[([^\]]*)\]\([^)]*\)")

    assert dict(MEANINGS) == {code: links.sub(r"\1", text) for code, text in rows.items()}


def test_every_mark_has_words():
    """In the order in which they happen."""
    assert list(MARK_NAMES) == list(Timings.__struct_fields__)


def test_the_json_holds_the_record():
    """As the journal has it, beside what was made of it."""
    data = orjson.loads(explain_json(of(agent().records, "r1-4")))

    assert data["schema"] == "turnscope.explain/1"
    assert data["record"] == orjson.loads(encode(named(agent().records, "r1-4").record))
    assert data["turn"]["exchanges"] == ["r1-1", "r1-3", "r1-4"]
    assert sum(s["duration_ns"] for s in data["turn_budget"]["segments"]) == 12_000 * MS


@pytest.fixture
def folder(tmp_path):
    """A journal with the agent's loop in it."""
    (tmp_path / SEGMENT).write_bytes(b"".join(encode(r) for r in agent().records))
    return tmp_path


def test_the_command_shows_what_is_asked_for(folder):
    """By id, the last and the worst; as text and as JSON, on stdout alone."""
    by_id, data = (run("explain", "r1-4", *a, "--journal", folder) for a in ((), ("--json",)))
    for done in (by_id, data):
        assert (done.returncode, done.stderr) == (0, "")
    assert by_id.stdout == text(agent().records, "r1-4")
    assert data.stdout == explain_json(of(agent().records, "r1-4")).decode()
    first = {
        flag: run("explain", flag, "--journal", folder).stdout.splitlines()[0]
        for flag in ("--last", "--worst")
    }
    assert first["--last"] == "turnscope  exchange r1-4, the last turn of 2"
    assert (
        first["--worst"] == "turnscope  exchange r1-1, in the slowest of 2 turns, by whole duration"
    )


def test_the_command_filters(folder):
    """Costs and choice are of what was asked for; the turn is whole nevertheless."""
    done = run("explain", "--last", "--turns-only", "--journal", folder)

    assert done.returncode == 0
    assert "hidden: title, in its way" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "say which one"),
        (("r1-1", "--last"), 2, "say which one"),
        (("r1-1", "--by", "ttft"), 2, "give --worst with it"),
        (("r1-44",), 1, "There is no exchange of this id among 5: r1-0 to r1-4. There is:\n  r1-4"),
        (("--last", "--model", "none"), 1, "No exchange has been recorded."),
    ],
)
def test_the_command_says_what_is_wrong(folder, words, code, said):
    """One sentence on stderr, nothing on stdout."""
    done = run("explain", *words, "--journal", folder)

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_folder_that_is_not_there(tmp_path):
    """Nothing has been recorded there."""
    done = run("explain", "--last", "--journal", tmp_path / "nowhere")

    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing has been recorded there" in done.stderr


def test_hostile_names_in_a_sum_of_figures():
    """What a server calls its figures is cut and shown harmlessly, its values too."""
    figures = {f"n\x1b{n}": n for n in range(40)}
    journal = Journal(records=(msgspec.structs.replace(hostile().records[0], reported=figures),))

    assert "n\\u001b11 11 and 28 more" in " ".join(text(journal.records, "r1-1").split())
