"""The project's pages as data: their links, headings, tables, commands and what stands in backquotes.

One rule: pages are read as text with a handful of patterns, so they have to be written plainly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .source import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        """Below the checkout, as messages print it."""
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text("utf-8")

    @cached_property
    def prose(self) -> str:
        """All but what stands in fences."""
        return _FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        """Targets of all links that lead somewhere in the project."""
        return [link for link in _LINK.findall(self.prose) if "://" not in link]

    @property
    def anchors(self) -> set[str]:
        """What links may name behind a `#`: headings as GitHub spells them."""
        return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in self.sections}

    @cached_property
    def sections(self) -> dict[str, str]:
        """The prose under each heading, of any level, down to the next heading."""
        pieces = re.split(r"^#+ (.*)$", self.prose, flags=re.MULTILINE)
        return dict(zip(pieces[1::2], pieces[2::2], strict=True))

    @property
    def quoted(self) -> list[tuple[str, str]]:
        """What stands in backquotes, each with the heading that it stands under."""
        found = [(re.findall(r"`([^`\n]+)`", body), head) for head, body in self.sections.items()]
        return [(text, head) for texts, head in found for text in texts]

    def rows(self, heading: str) -> list[list[str]]:
        """Cells of the rows of the tables in a section, the first two lines of each left out."""
        lines = [line for line in self.sections[heading].splitlines() if line.startswith("|")]
        cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        rules = [n for n, row in enumerate(cells) if set(row[0]) == {"-"}]
        return [row for n, row in enumerate(cells) if n not in rules and n + 1 not in rules]

    def column(self, heading: str, number: int = 0) -> list[str]:
        """One column of those rows, without backquotes."""
        return [row[number].strip("`") for row in self.rows(heading)]

    @property
    def shell(self) -> Iterator[str]:
        """Each command of its shell blocks, without its remark."""
        for language, body in _FENCE.findall(self.text):
            for line in body.splitlines() if language == "sh" else ():
                command = re.sub(r"(^|\s+)#.*", "", line).strip()
                if command:
                    yield command


def pages() -> list[Page]:
    """All pages that a reader is sent to."""
    found = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [Page(path) for path in found]


def page(name: str) -> Page:
    """The page of this name below the checkout."""
    return Page(ROOT / name)
