"""The field report's figures, from a journal that holds its turns, as a user gets them from the command."""

from __future__ import annotations

import orjson
import pytest
from click.testing import CliRunner

from analysis.command import turnscope
from tests.support import method

FACTORS = [
    ("before", 1.11, 1.07),
    ("before", 1.42, 1.23),
    ("before", 2.58, 1.61),
    ("after", 1.11, 1.07),
    ("after", 1.42, 1.26),
    ("after", 2.58, 1.98),
]
"""Side of the switch, decode speedup, and what the field report prints for the whole turn."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The journal on disk."""
    return method.write(tmp_path_factory.mktemp("method") / "journal", method.method())


def run(folder, *flags):
    """`turnscope report` on the journal."""
    return CliRunner().invoke(turnscope, ["report", "--journal", str(folder), *map(str, flags)])


def told(folder, *flags):
    """What the command says, as JSON and as words in one line."""
    data, text = run(folder, "--json", *flags), run(folder, *flags)
    assert (data.exit_code, text.exit_code, data.stderr, text.stderr) == (0, 0, "", "")
    lines = text.stdout.splitlines()
    # A sentence folds at its own column's edge, with its source beside it: left of that it goes on.
    sentences = " ".join(line.partition("  ")[0] for line in lines)
    return orjson.loads(data.stdout), sentences + " ".join(text.stdout.split())


@pytest.fixture(scope="module")
def report(folder):
    """The report without a word from the user."""
    return told(folder)


def test_the_median_turn_is_the_field_reports(report):
    """16.087 s, of which 6.084 until the first token: 38 %."""
    data, words = report
    turn = data["median_turn"]["exchange"]

    assert round(turn["ttft_ns"] / 1e9, 3) == 6.084
    assert round(turn["ttft_ns"] / method.WHOLE_NS, 2) == 0.38
    assert "6.1 s (38 %) until the first token, 10.0 s decoding" in words


def test_one_turn_has_two_speeds(report):
    """37.7 tok/s in the client and 23.4 over the turn, for the median turn and as medians of all."""
    data, words = report
    speeds = {row["name"]: row for row in data["median_turn"]["speeds"]}
    found = [speeds[name]["tokens_per_s"] for name in ("client_style", "whole_turn")]
    middle = [speeds[name]["median_tokens_per_s"] for name in ("client_style", "whole_turn")]

    assert [round(figure, 1) for figure in found] == [37.7, 23.4]
    assert [round(figure, 1) for figure in middle] == [37.7, 23.4]
    assert "client style 37.7 tok/s 37.7 tok/s" in words
    assert "whole turn 23.4 tok/s 23.4 tok/s" in words


def test_what_stands_in_front_of_the_question(report):
    """8,112 of 9,459 tokens, 6,603 of them in 31 tools of which 24 were never called."""
    data, words = report

    assert data["median_turn"]["exchange"]["input_tokens"] == method.PROMPT
    assert "8,112 tokens: 6,603 tokens in 31 tool definitions (24 never called)" in words
    assert "9,459 tokens in" in words
    assert method.IN_FRONT == method.TOOLS + method.SYSTEM
    assert method.PROMPT == method.IN_FRONT + method.QUESTION_AND_HISTORY


@pytest.mark.parametrize(("measured", "s", "expected"), FACTORS)
def test_a_decode_speedup_goes_through_every_turn(folder, measured, s, expected):
    """The median over the turns is what the field report prints, in both forms, in JSON and in words."""
    data, words = told(folder, "--decode-speedup", s, "--measured", measured)
    found = data["decode_speedup"]

    assert found["over_turns"] == 2 * method.AROUND + 1
    assert found["measured"] == measured
    assert round(found["median_turn_factor"], 2) == expected
    made = "would make" if measured == "before" else "made"
    assert f"{made} the median of 31 turns {expected:.2f} x as fast" in words


def test_before_is_the_default(folder):
    """A journal of today's turns and an engine of tomorrow."""
    data, _ = told(folder, "--decode-speedup", "2.58")

    assert data["decode_speedup"]["measured"] == "before"
    assert round(data["decode_speedup"]["median_turn_factor"], 2) == 1.61


def test_a_kind_of_answer_has_its_own_speedup(folder):
    """All answers of these turns are prose: the factor for code changes none of them."""
    data, words = told(folder, "--decode-speedup", "code=2.58,prose=1.11")

    assert round(data["decode_speedup"]["median_turn_factor"], 2) == 1.07
    assert "2.58 x the decode speed for code, 1.11 x for prose and 1 x for the rest" in words


def test_no_decode_speed_goes_beyond_the_ceiling(report):
    """(6.084 + 10.003) / 6.084, which a decode that costs nothing reaches."""
    data, words = report
    lines = {line["name"]: line for line in data["what_ifs"]["lines"]}

    assert round(data["what_ifs"]["ceiling_factor"], 2) == 2.64
    assert round(lines["decode free"]["median_turn_factor"], 2) == 2.64
    assert "no decode speed makes the median turn more than 2.64 x as fast" in words


def test_cutting_tools_beats_a_small_speedup(report):
    """Without the 24 a turn is 1.26 times as fast, 3.3 s less; the interval stands beside it."""
    data, words = report
    line = next(x for x in data["what_ifs"]["lines"] if x["name"] == "no unused tools")

    assert round(line["median_turn_factor"], 2) == 1.26
    assert line["median_saved_ns"] / 1e9 == pytest.approx(3.29, abs=0.03)
    assert line["low_median_saved_ns"] < line["median_saved_ns"] < line["high_median_saved_ns"]
    assert line["source"].startswith("estimated")
    assert f"{line['all_turns_saved_ns'] / 31e9:.2f} s (" in words
    assert "cut the 24 tools that were never" in words
    assert "1.26 x as fast" in words


def test_the_working_point_is_one_users(folder):
    """Said by the user, seen by the proxy, assumed: all stand there, and per-request is to be read."""
    data, words = told(folder, "--working-point", "1-4")
    point = data["working_point"]

    assert point["read"] == "per-request"
    assert [view["by"] for view in point["views"]] == ["said", "proxy", "caller"]
    assert "you say 1 to 4" in words
    assert "Read per-request speed, not aggregate" in words


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--decode-speedup", "fast"], "no factor above 0"),
        (["--decode-speedup", "0"], "no factor above 0"),
        (["--decode-speedup", "nan"], "no factor above 0"),
        (["--decode-speedup", "poems=2"], "no kind of answer"),
        (["--decode-speedup", "code=2,code=3"], "there twice"),
        (["--measured", "after"], "give both"),
        (["--working-point", "0"], "no number of requests at once"),
        (["--working-point", "4-1"], "no number of requests at once"),
    ],
)
def test_flags_that_mean_nothing_are_wrong_usage(folder, flags, said):
    """Exit 2, nothing on stdout, and a sentence on what to write."""
    done = run(folder, *flags)

    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
