"""How to switch tools off: the report names a client's own section, and the page has it."""

from __future__ import annotations

import pytest

from analysis.render.cutting import PAGE, SECTIONS, anchor, how_to_cut, section
from clients.catalog import CLIENTS
from tests.support.pages import page

CUTTING = page(PAGE)
HEADINGS = sorted(set(SECTIONS.values()))


@pytest.mark.parametrize("heading", HEADINGS)
def test_each_section_that_is_named_exists(heading):
    """Under its heading, and under the anchor that the report prints."""
    assert heading in CUTTING.sections
    assert anchor(heading) in CUTTING.anchors


@pytest.mark.parametrize("heading", HEADINGS)
def test_each_section_says_how_it_was_checked(heading):
    """Tried or read: no statement on others' programs stands without."""
    assert "\nChecked: " in CUTTING.sections[heading]


@pytest.mark.parametrize(("client", "heading"), [
    ("claude-cli/2.1.197", "Claude Code"),
    ("claude-code/2.2.0", "Claude Code"),
    ("codex_exec/0.171.0", "Codex"),
    ("codex_cli_rs/0.90.0", "Codex"),
    ("opencode/1.18.33", "opencode"),
    ("GeminiCLI-tui/0.61.0", "Gemini CLI"),
    ("QwenCode/0.15.10", "Qwen Code"),
    ("Open WebUI", "Open WebUI"),
    ("Cline/3.0.65", "Cline"),
    ("RooCode/3.1", "Roo Code"),
    ("Kilo Code", "Kilo Code"),
    ("pi/0.73.1", "pi"),
])  # fmt: skip
def test_a_clients_name_leads_to_its_section(client, heading):
    """As clients name themselves, whatever the version."""
    assert section(client) == heading


@pytest.mark.parametrize("client", [
    "OpenAI/Python 3.57.0", "Python/3.11", "Bun/1.4.0", "Anthropic/Python 2.14.0", "", "picnic/1", "clineup/2",
])  # fmt: skip
def test_a_librarys_name_leads_to_none(client):
    """Many programs send these; nobody is sent to another's section."""
    assert section(client) is None


def test_every_client_that_is_run_here_has_a_section():
    """What `make clients` installs; the SDKs are your own program."""
    ours = {client.folder for client in CLIENTS if client.registry != "ours"}
    known = {anchor(heading) for heading in HEADINGS}

    assert ours <= known


def test_the_page_is_named_with_the_section():
    """One client, several, one that is not known."""
    assert how_to_cut(["Open WebUI"]) == (
        "How to switch tools off in Open WebUI: docs/cutting-tools.md#open-webui"
    )
    assert how_to_cut(["claude-cli/2.1", "curl/8", "claude-cli/2.0", "codex_exec/1"]) == (
        "How to switch tools off in Claude Code and Codex:"
        " docs/cutting-tools.md#claude-code, docs/cutting-tools.md#codex"
    )
    assert how_to_cut(["curl/8"]) == "How to switch tools off: docs/cutting-tools.md"
