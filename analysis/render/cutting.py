"""Which section of docs/cutting-tools.md tells how to switch tools off in a client.

One rule: a section is named only where the client's own name is known. Many clients send the name of the
library that they are built with; for these the page is named and no section.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .names import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PAGE: Final = "docs/cutting-tools.md"

SECTIONS: Final[Mapping[str, str]] = {
    "claude-cli": "Claude Code",
    "claude-code": "Claude Code",
    "claude code": "Claude Code",
    "codex": "Codex",
    "opencode": "opencode",
    "geminicli": "Gemini CLI",
    "gemini cli": "Gemini CLI",
    "qwencode": "Qwen Code",
    "qwen code": "Qwen Code",
    "open webui": "Open WebUI",
    "open-webui": "Open WebUI",
    "openwebui": "Open WebUI",
    "cline": "Cline",
    "roo": "Roo Code",
    "roocode": "Roo Code",
    "kilo": "Kilo Code",
    "kilocode": "Kilo Code",
    "continue": "Continue",
    "librechat": "LibreChat",
    "aider": "aider",
    "pi": "pi",
}
"""How a client's name in the record begins, in lower case, and the section's heading."""

MOST_NAMED: Final = 3


def section(client: str) -> str | None:
    """The heading of a client's section; None if it is none that the page knows."""
    name = client.lower()
    for begin, heading in SECTIONS.items():
        rest = name.removeprefix(begin)
        # A name goes on with its version, a part of its own (`GeminiCLI-tui`), or not at all.
        if rest != name and not rest[:1].isalnum():
            return heading
    return None


def how_to_cut(clients: Iterable[str]) -> str:
    """Where to read how; `clients` as recorded, the most frequent first."""
    named = list(dict.fromkeys(filter(None, map(section, clients))))[:MOST_NAMED]
    where = ", ".join(f"{PAGE}#{anchor(heading)}" for heading in named) or PAGE
    whose = f" in {' and '.join(map(printable, named))}" if named else ""
    return f"How to switch tools off{whose}: {where}"


def anchor(heading: str) -> str:
    """What links name behind a `#`, as GitHub spells it."""
    return heading.lower().replace(" ", "-")
