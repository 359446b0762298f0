"""Findings about prompts and caches, their order and their words: each fires on one journal and just does not on another."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from analysis.explain.findings.base import FindingName
from analysis.explain.overview import overview
from analysis.render.findings import WORDS, findings_fields, findings_table, told
from analysis.store.base import Journal
from proxy.journal.record import Counting, Tools, UsageReport
from tests.support import method
from tests.support.builders import COUNTED, S, part, parts
from tests.support.findings import SET, failed, many, missed, of, tooled, turn
from tests.support.pages import page


def test_a_healthy_journal_has_no_finding():
    """Nor one without a record."""
    assert of(*many()) == {}
    assert of() == {}


def test_tools_that_nobody_called():
    """With seconds, an evidence, and the tools that are called left alone."""
    found = tooled(2_000)

    assert found["unused tools"].saves_ns == pytest.approx(2 * S, rel=0.01)
    assert found["unused tools"].figures["tools"] == 10
    assert "unused tools" not in tooled(400)
    assert "unused tools" not in tooled(2_000, called=[f"t{n}" for n in range(10)])


def test_tools_that_are_called_and_long():
    """They are a finding of their own, and not that of the others."""
    all_called = [f"t{n}" for n in range(10)]
    found = tooled(2_000, called=all_called)

    assert found["bloated tools"].saves_ns == pytest.approx(2 * S, rel=0.01)
    assert "bloated tools" not in tooled(400, called=all_called)


@pytest.mark.parametrize(("tokens", "fires"), [(1_000, True), (999, False)])
def test_a_long_system_prompt(tokens, fires):
    """From a thousand tokens on, if reading them is felt."""
    whole = tokens + 200
    found = of(
        *many(
            parts=parts(system=tokens, question=200),
            usage=UsageReport(input=whole, output=377, cached=0),
            reported={"prompt_ms": float(whole), "prompt_n": whole},
        )
    )

    assert ("oversized system prompt" in found) is fires


@pytest.mark.parametrize(
    ("client", "upstream", "fires"),
    [
        ("claude-cli/2.1", "http://10.0.0.5:8000", True),
        ("claude-cli/2.1", "https://api.anthropic.com", False),
        ("claude-cli/2.1", "https://api.anthropic.com:443", False),
        ("claude-cli/2.1", "https://api.anthropic.com.example", True),
        ("another/1.0", "http://10.0.0.5:8000", False),
    ],
)
def test_a_client_that_sends_all_tools_to_strangers(client, upstream, fires):
    """Only a client that is known to, and not to its vendor."""
    found = tooled(2_000, client=client, upstream=upstream)

    assert ("client inflates its prompt" in found) is fires
    assert found["unused tools"].overlaps == (("client inflates its prompt",) if fires else ())


@pytest.mark.parametrize("dropped", [True, False])
def test_a_template_that_drops_the_tools(dropped):
    """The count says so."""
    source = f"{COUNTED}, not in the bill" if dropped else COUNTED
    tools = Tools(set_hash=SET, count=1, tokens=50)
    given = [part("tools", 50, source=source), *parts(system=300, question=650)]
    found = of(*many(parts=given, tools=tools))

    assert ("template drops tools" in found) is dropped


@pytest.mark.parametrize(("residual", "fires"), [(101, True), (-101, True), (100, False)])
def test_counts_that_miss_the_bill(residual, fires):
    """By more than a tenth, in most answers."""
    counting = Counting(tokenizer=COUNTED, counted=1_000 - residual, billed=1_000, residual=residual)  # fmt: skip

    assert ("token counts disagree" in of(*many(counting=counting))) is fires
    assert "token counts disagree" not in of(*many(bad=20, counting=counting))


def test_a_prefix_that_the_client_breaks():
    """With the cause and the place; seldom, it is not felt."""
    broken = missed("system", part="system", offset=212, message=0)
    found = of(*many(**broken))["prefix broken"]

    assert (found.figures["cause"], found.figures["character"]) == ("system", 212)
    assert found.saves_ns == pytest.approx(0.8 * S, rel=0.05)
    assert told(found)[0] == "keep the prefix stable: system prompt changed"
    assert "character 212 of the system, message 0" in told(found)[1]
    assert "prefix broken" not in of(*many(bad=20, **broken))


def test_a_cache_that_is_not_used():
    """The prompt went on from an earlier one; the server's doing, not the client's."""
    found = of(*many(**missed("server")))

    assert "cache not reused" in found
    assert "prefix broken" not in found
    assert "cache not reused" not in of(*many(bad=20, **missed("server")))


def test_the_field_reports_first_finding_is_its_tools():
    """24 of 31, in seconds with an interval, before the system prompt."""
    found = overview(method.method()).findings

    assert [f.name for f in found] == ["unused tools", "oversized system prompt", "bloated tools"]
    low, high = found[0].interval_ns
    assert low < found[0].saves_ns < high
    assert found[0].saves_ns == pytest.approx(5_118 * 6.084 * S / 9_459, rel=0.03)
    assert found[0].overlaps == found[2].overlaps == ()


def test_findings_are_ranked_by_seconds_and_say_what_overlaps():
    """Most first; without seconds last; both sides of an overlap name each other."""
    broken = missed("system", part="system", offset=3)
    system = {**broken, "parts": parts(system=1_500, question=100)}
    system["usage"] = UsageReport(input=1_600, output=377, cached=0)
    system["reported"] = {"prompt_ms": 1_600.0, "prompt_n": 1_600}
    found = list(of(*many(), *(turn(50 + n, **system) for n in range(90))).values())

    assert [f.saves_ns for f in found] == sorted([f.saves_ns for f in found], reverse=True)
    named = {f.name: f.overlaps for f in found}
    assert named["oversized system prompt"] == ("prefix broken",)
    assert named["prefix broken"] == ("oversized system prompt",)


def test_every_finding_has_words_and_a_row_in_the_docs():
    """Those of the code, in its order, and no others."""
    names = list(get_args(FindingName))

    assert list(WORDS) == names
    assert page("docs/findings.md").column("Findings") == names


def test_names_of_others_are_shown_and_not_obeyed():
    """A client's name with an escape sequence in it."""
    evil = "claude-cli\x1b[31m<script>"
    held = tooled(2_000, client=evil)

    assert "\x1b" not in " ".join(told(held["client inflates its prompt"]))


def test_the_json_says_the_same():
    """Seconds or null, and words; the numbers behind them stand elsewhere in the report, with their sources."""
    report = overview(Journal(records=(*many(98), failed(98), failed(99))))
    (told_,) = [f for f in findings_fields(report.findings) if f["name"] == "errors"]

    assert told_["saves_ns"] is None
    assert told_["seen"].startswith("2 of 100 requests for output, most often: http 503")
    assert ("1  see why requests fail", "-", "measured") in findings_table(report).rows
    assert msgspec.json.decode(msgspec.json.encode(told_)) == {
        **told_,
        "doubts": [],
        "overlaps": [],
    }
