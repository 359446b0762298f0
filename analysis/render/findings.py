"""Findings in words, and the table of what to do about them.

One rule: a row says what to do and what that saves, the line below it what was seen, how sure that is, and
with which others it overlaps. A faster engine stands last, beside them, to be held against.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from analysis.explain.source import Refusal

from .misses import CAUSES
from .names import printable
from .table import Column, Table, text
from .units import NOTHING, count, duration, factor, percent, scale_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from analysis.explain.findings.base import Finding, FindingName
    from analysis.explain.overview import Overview
    from analysis.explain.whatif import WhatIf, WhatIfName

    from .units import Scale


class Words(NamedTuple):
    """What to do, and what was seen; names in braces are the finding's figures."""

    remedy: str
    seen: str


WORDS: Final[Mapping[FindingName, Words]] = {
    "unused tools": Words(
        "cut the {tools} tools that were never called",
        "{tools} of {of_tools} tools, {tokens} tokens; answers that offered any: {offering}. How:"
        " docs/cutting-tools.md",
    ),
    "bloated tools": Words(
        "shorten the tools that are called",
        "{tools} of them have {tokens} tokens, {largest} alone {largest_tokens}; all tools are {share} of"
        " what stands in the prompts",
    ),
    "oversized system prompt": Words(
        "shorten the system prompt",
        "it has {tokens} tokens, {share} of what stands in the prompts",
    ),
    "client inflates its prompt": Words(
        "let {client} load tools when they are needed",
        "it sends {tools} definitions of MCP servers, {tokens} tokens, perhaps because the address is"
        " not its vendor's; ENABLE_TOOL_SEARCH has a say in that",
    ),
    "template drops tools": Words(
        "give the server a chat template that takes tools",
        "the client sends tools in {answers} answers, and the bill shows that the model never saw them",
    ),
    "token counts disagree": Words(
        "let the server count (tokenizer.server), or name the model's file",
        "in {answers} of {of_answers} answers parts are off the bill, by {share} in the middle one",
    ),
    "prefix broken": Words(
        "keep the prefix stable: {cause}",
        "in {prompts} of {compared} prompts, first at {place}; {tokens} tokens were read again",
    ),
    "cache not reused": Words(
        "make the server keep its cache: {cause}",
        "{prompts} of {compared} prompts went on from an earlier one, and {tokens} tokens were read again",
    ),
    "hidden requests": Words(
        "switch off requests that the client makes for itself",
        "titles, tags and the like stood in the way of {turns} turns",
    ),
    "queueing": Words(
        "send less at once, or let the server run more at once",
        "the server says that requests waited for others: {share} of the mean turn",
    ),
    "slow caller": Words(
        "look at the client or its network",
        "{answers} answers waited until the client read them: {share} of the mean turn",
    ),
    "far server": Words(
        "bring the server nearer, or keep connections open",
        "upload and connecting are {share} of the mean turn; {dialled} answers opened a connection",
    ),
    "proxy slow": Words(
        "give turnscope-proxy more of the machine",
        "this proxy itself held pieces back",
    ),
    "reasoning before the answer": Words(
        "ask for less reasoning",
        "{answers} answers began with reasoning, {share} of the mean turn",
    ),
    "first token dominates": Words(
        "look at the prompt before the engine",
        "{share} of the median turn is not decoding, over {turns} turns; an engine that decodes 2 x as"
        " fast is felt as {factor}",
    ),
    "decode dominates": Words(
        "get a faster engine, or shorter answers",
        "{share} of the median turn is decoding: 2 x as fast makes it {factor} as fast",
    ),
    "stalls": Words(
        "find out what stops the server in the middle of answers",
        "{answers} of {of_answers} answers stood still for a second or more, the longest {longest_ns}",
    ),
    "retries": Words(
        "see why requests had to be sent again",
        "{turns} of {of_turns} turns came to their end only after a request of theirs had failed",
    ),
    "errors": Words(
        "see why requests fail",
        "{failed} of {asked} requests for output, most often: {most} ({times})",
    ),
    "redirects past the proxy": Words(
        "let the client use the address that the server redirects to",
        "{exchanges} replies send it to the server's own address, past this proxy, last {path}",
    ),
}

DOUBTS: Final[Mapping[str, str]] = {
    "few answers": "few answers so far",
    "tokens are not the server's": "tokens are not the server's own count",
    "mostly cached": "a cache hides most of it, until it misses",
    "cache not reported": "the server does not say what it cached; none is assumed",
}

ENGINES: Final[Mapping[WhatIfName, str]] = {
    "decode x 2": "an engine that decodes 2 x as fast",
    "prefill x 2": "an engine that reads 2 x as fast",
}


def findings_table(report: Overview) -> Table | None:
    """What to do, with a faster engine beside it; None when there is nothing to say."""
    engines = list(_engines(report))
    if not report.findings and not engines:
        return None
    saved = [f.saves_ns for f in report.findings if f.saves_ns] + [ns for _, ns, _ in engines]
    scale = scale_for(max(saved, default=0))
    numbers = {f.name: number for number, f in enumerate(report.findings, 1)}
    rows = [
        (f"{number}  {told(finding)[0]}", _saves(finding, scale), str(finding.source))
        for number, finding in enumerate(report.findings, 1)
    ]
    rows += [(f"beside: {what}", scale.text(ns), source) for what, ns, source in engines]
    return Table(
        (
            text("WHAT TO DO, most first"),
            Column("saves", "mean turn"),
            text("known how"),
        ),
        tuple(rows),
        tuple(_notes(report, numbers)),
    )


def told(finding: Finding) -> tuple[str, str]:
    """What to do, and what was seen, in words."""
    words = WORDS[finding.name]
    figures = {name: _figure(name, value) for name, value in finding.figures.items()}
    figures.setdefault("place", _place(finding.figures))
    figures.setdefault("factor", NOTHING)
    if "cause" in figures:
        figures["cause"] = CAUSES[finding.figures["cause"]]  # type: ignore[index] # it is one of them
    return words.remedy.format_map(figures), words.seen.format_map(figures)


def findings_fields(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """The same as JSON. The figures behind the words stand in their own sections, with their sources."""
    return [
        {
            "name": finding.name,
            "saves_ns": None if finding.saves_ns is None else round(finding.saves_ns),
            "interval_ns": finding.interval_ns,
            "source": str(finding.source),
            "remedy": told(finding)[0],
            "seen": told(finding)[1],
            "doubts": finding.doubts,
            "overlaps": finding.overlaps,
        }
        for finding in found
    ]


def doubts(finding: Finding) -> str:
    """What may make it wrong, in words; empty when nothing is known to."""
    return "; ".join(DOUBTS[doubt] for doubt in finding.doubts)


def _figure(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return printable(value)
    if name == "share":
        return percent(value)
    if name == "factor":
        return factor(value)
    return duration(round(value)) if name.endswith("_ns") else count(round(value))


def _place(figures: Mapping[str, float | int | str]) -> str:
    """Where a prompt first differs."""
    if "part" not in figures:
        return "no place that is known"
    where = f"character {figures['character']:,} of the {figures['part']}"
    if "tool" in figures:
        where = f"character {figures['character']:,} of the tool {printable(str(figures['tool']))}"
    return where + (f", message {figures['message']}" if "message" in figures else "")


def _saves(finding: Finding, scale: Scale) -> str:
    if finding.saves_ns is None:
        return NOTHING
    middle = scale.text(finding.saves_ns)
    if finding.interval_ns is None:
        return middle
    low, high = (f"{ns / scale.ns:,.{scale.places}f}" for ns in finding.interval_ns)
    return middle if low == high else f"{middle} ({low} to {high})"


def _behind(finding: Finding, numbers: Mapping[FindingName, int]) -> str:
    said = f"; doubt: {doubts(finding)}" if finding.doubts else ""
    if finding.overlaps:
        said += f"; overlaps with {', '.join(str(numbers[name]) for name in finding.overlaps)}"
    return said


def _engines(report: Overview) -> Iterator[tuple[str, float, str]]:
    for line in report.outlook.what_ifs:
        if line.name in ENGINES and (saved := _mean_ns(line)):
            yield ENGINES[line.name], saved, str(line.source)


def _mean_ns(line: WhatIf) -> float:
    gain = line.gain
    return 0.0 if isinstance(gain, Refusal) else gain.total_saved_ns / gain.turns


def _notes(report: Overview, numbers: Mapping[FindingName, int]) -> Iterator[str]:
    for finding in report.findings:
        _, seen = told(finding)
        yield f"{numbers[finding.name]}: {seen}{_behind(finding, numbers)}."
    yield "Means of all turns. What overlaps does not add up; what a row does not name stays as it is."
    ahead = report.outlook
    if ahead.ceiling is not None and not isinf(ahead.ceiling):
        yield (
            f"Ceiling: no decode speed makes the median turn more than {factor(ahead.ceiling)} as fast."
        )
