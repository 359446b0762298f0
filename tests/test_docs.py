"""What the pages say exists does, and what exists is on a page.

journal.md, metrics.md and configuration.md have tests of their own for what they list.
`GOLDEN=write pytest tests/test_docs.py` writes the help texts in docs/commands.md anew.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shlex
from typing import get_args

import pytest
from click.testing import CliRunner

from analysis.explain import budget
from proxy.dialects.table import DIALECTS
from tests.support.pages import page, pages
from tests.support.quotes import PROGRAMS, TARGETS, faults_of_command, faults_of_quote
from tests.support.source import ROOT, modules

PAGES = {each.name: each for each in pages()}
every_page = pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
README, OVERVIEW = page("README.md"), page("docs/overview.md")
COMMANDS = page("docs/commands.md")


@every_page
def test_what_stands_in_backquotes_exists(text):
    """Each file, command, flag, make target, key, event and field that a page quotes is there."""
    folder = text.path.parent
    found = [f for quote, head in text.quoted for f in faults_of_quote(quote, head, folder)]

    assert found == []


@pytest.mark.parametrize(
    "quote",
    [
        "make tea",
        "turnscope exlpain",
        "turnscope report --pdf",
        "--verbose",
        "proxy/nowhere.py",
        "docs/nowhere/",
        "recorder.nicer",
        "timings.first_word_ns",
        "[relay] grace",
        "hosts = 1",
        "python -m proxy --jurnal",
        "turnscope-proxy report --json",
        "make run ARGS=--upstraem",
    ],
)
def test_what_does_not_exist_is_found(quote):
    """The test before this one can fail, in each of its kinds."""
    assert len(list(faults_of_quote(quote, "", ROOT))) == 1


@every_page
def test_shell_commands_can_be_typed(text):
    """Each command in a shell block is a make target, a command of ours or one that makes a place for it."""
    foreign = ("python3 -m venv ", "turnscope-env/bin/pip install ")
    own = [line for line in text.shell if not line.startswith(foreign)]

    assert [fault for line in own for fault in faults_of_command(shlex.split(line))] == []


@every_page
def test_links_lead_somewhere(text):
    """Each link inside the project leads to a file, and to a heading in it if it names one."""
    for link in text.links:
        file, _, anchor = link.partition("#")
        target = (text.path.parent / file).resolve() if file else text.path
        assert target.exists(), link
        if anchor:
            assert anchor in page(str(target.relative_to(ROOT))).anchors, link


def test_every_page_can_be_reached():
    """From the README, link by link; a folder of decisions counts for what is in it."""
    reached, waiting = set(), [README.path]
    while waiting:
        path = waiting.pop()
        if path.is_dir():
            waiting += sorted(path.glob("*.md"))
        elif path.suffix == ".md" and path not in reached:
            reached.add(path)
            links = page(str(path.relative_to(ROOT))).links
            waiting += [(path.parent / link.partition("#")[0]).resolve() for link in links]

    assert {each.path for each in PAGES.values()} <= reached


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_in_the_docs_is_the_programs_own(program):
    """docs/commands.md shows what `--help` prints, on a terminal of 100 columns."""
    words = [*program.split()[1:], "--help"]
    done = CliRunner().invoke(PROGRAMS[program.split()[0]], words, terminal_width=100)
    begin, end = f"<!-- help: {program} -->\n", "<!-- end of help -->"
    before, _, rest = COMMANDS.path.read_text("utf-8").partition(begin)
    shown, _, after = rest.partition(end)
    want = f"```text\n{done.output}```\n"
    if os.environ.get("GOLDEN") == "write":
        COMMANDS.path.write_text(f"{before}{begin}{want}{end}{after}", "utf-8")
        shown = want

    assert done.exit_code == 0
    assert shown == want, "GOLDEN=write pytest tests/test_docs.py writes it anew"


EXITING = ("cli", "command", "explaining", "report", "terminal")
"""Modules of analysis that end the program."""


def exits(module):
    """Exit codes that stand in a module as numbers."""
    source = inspect.getsource(importlib.import_module(module))
    return {int(code) for code in re.findall(r"(?:sys\.|context\.)exit\((\d+)\)", source)}


def test_exit_codes_are_explained():
    """Codes in the table are those of the help's own last sentence, and all that the code gives."""
    told = {}
    for name, code, _ in COMMANDS.rows("Exit codes"):
        told.setdefault(name.strip("`"), set()).add(int(code))
    for name, codes in told.items():
        said = PROGRAMS[name].epilog or ""
        assert {int(n) for n in re.findall(r"\b\d\b", said)} == codes, name
    assert told.keys() == PROGRAMS.keys() - {"turnscope"}
    assert exits("proxy.command") | exits("proxy.cli") <= told["turnscope-proxy"]
    theirs = set().union(*(exits(f"analysis.{name}") for name in EXITING))
    assert theirs == told["turnscope report"] | told["turnscope tail"]


def test_every_make_target_is_in_the_readme():
    """In the order of the Makefile, and no other."""
    assert README.column("Developing")[: len(TARGETS)] == [f"make {name}" for name in TARGETS]


def test_every_command_is_in_the_readme():
    """Each that does something; `turnscope` alone only lists the others."""
    assert README.column("Commands") == [name for name in PROGRAMS if name != "turnscope"]


def test_the_readmes_budget_is_one():
    """The picture's segments have their names and add up to the turns, within what is rounded away."""
    head, *rows = re.findall(r"^(\S.*?) {2,}(\d+\.\d\d) s ", README.text, re.MULTILINE)
    shown = ", ".join(name.removeprefix("prefill: ").removeprefix("chat ") for name, _ in rows)
    names = set(shown.split(", "))

    assert head[0] == "WHERE ALL TURNS WENT"
    assert names <= {name.removeprefix("prefill: ") for name in get_args(budget.SegmentName)}
    assert abs(float(head[1]) - sum(float(s) for _, s in rows)) <= 0.005 * (len(rows) + 1)


STARTED = ("proxy.__main__", "proxy.recorder", "analysis.__main__")
"""The modules that processes begin with."""


def reached():
    """Every module of ours that those lead to: what nothing imports is no part of the product."""
    named = {module.name: module for module in modules("proxy", "analysis")}
    found, waiting = {}, list(STARTED)
    while waiting:
        name = waiting.pop()
        if name in named and name not in found:
            found[name] = named[name]
            waiting += [used.name for used in named[name].imports]
    return found.values()


def test_every_file_is_in_the_overview():
    """Each file of both packages has its row, under the heading of its folder, and no other has."""
    folders = {}
    for module in reached():
        folder, _, name = module.path.rpartition("/")
        if not name.startswith("__"):
            folders.setdefault(f"`{folder}/`", []).append(name)
    heads = [head for head in OVERVIEW.sections if head.startswith("`")]

    assert {head: sorted(OVERVIEW.column(head)) for head in heads} == {
        head: sorted(names) for head, names in folders.items()
    }


def test_every_dialect_is_named():
    """The overview has the word for each format that is read."""
    for dialect in DIALECTS:
        assert f"`{dialect.name}`" in OVERVIEW.text, dialect.name


DECISIONS = [each for each in PAGES.values() if each.path.parent.name == "decisions"]


@pytest.mark.parametrize("text", DECISIONS, ids=lambda each: each.path.stem)
def test_a_decision_has_its_four_parts(text):
    """Context, choice, price and how we would know, half a page in all."""
    number = int(text.path.name[:4])
    title, *heads = text.sections

    assert title.startswith(f"{number}. ")
    assert heads == ["Context", "Choice", "Price", "How we would know it is wrong"]
    assert all(body.strip() for head, body in text.sections.items() if head != title)
    assert len(text.text.split()) < 400


def test_decisions_are_numbered_without_a_gap():
    """From 1 on."""
    assert [int(each.path.name[:4]) for each in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    assert len(DECISIONS) >= 6
