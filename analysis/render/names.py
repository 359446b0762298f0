"""Names that others chose (tools, models, clients), made fit to be printed.

One rule: such a name can change neither the screen nor the page. Control characters, those that turn
the direction of writing and half surrogate pairs are shown as what they are; what is too long is cut,
and shows that.
"""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST: Final = 60

PARTS: Final = {
    "tool_results": "tool results",
    "template": "chat template",
    "unexplained": "not explained by the parts",
}
"""Parts whose name in the record is not the word for it."""


def printable(name: str | None, longest: int = LONGEST) -> str:
    """The name as one line of at most `longest` characters; a dash for None."""
    if name is None:
        return "-"
    safe = "".join(_shown(c) for c in name[: longest + 1])
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


def _shown(character: str) -> str:
    # Categories: Cc control, Cf format (bidi, zero width), Cs surrogate, Co private use, Zl and Zp line ends.
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return f"\\u{ord(character):04x}"
    return " " if character.isspace() else character
