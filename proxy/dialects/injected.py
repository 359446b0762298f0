"""Text that a client puts among the user's own words, told apart where the client marks it.

One rule: only marks that clients are known to write count, at the start of a line (or behind another
mark) and closed again. Unmarked text is the user's: to tell it apart by its wording would be a guess.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .base import PromptPart

ROLE: Final = "injected"
"""Role of such a part, in place of `user`."""

_MARKS: Final = (
    "system-reminder",  # Claude Code, opencode, Qwen Code
    "user-prompt-submit-hook", "task-notification", "local-command-caveat",  # Claude Code
    "local-command-stdout", "local-command-stderr", "command-name", "command-message",
    "ide_opened_file", "ide_selection",  # its editor plug-ins
    "environment_context", "user_instructions", "turn_aborted",  # Codex
    "skills_instructions", "recommended_plugins", "permissions instructions", "collaboration_mode",
    "apps_instructions", "plugins_instructions", "multi_agent_mode", "user_shell_command",
    "subagent_notification",
    "session_context", "hook_context",  # Gemini CLI
    "environment_details",  # Cline, Roo Code
    "environment_info", "workspace_info", "editorContext", "reminderInstructions",  # Copilot
)  # fmt: skip
"""Not here: `command-args` and `userRequest`, in which the user's words stand; `context`, `skill`,
`attachments` and such, which people write as well."""

_OPENING: Final = re.compile(rf"<({'|'.join(_MARKS)})(?:\s[^<>]*)?>")
_INK: Final = re.compile(r"\S")
_INDENT: Final = 80
"""Blanks in front of a mark that are looked at."""


def set_apart(parts: Iterable[PromptPart]) -> Iterator[PromptPart]:
    """The same parts, but what a client put into the user's text as parts of role `injected`.

    Not in a tool's results: what stands in a file that was read is no word of the user anyway.
    """
    for part in parts:
        if part.role == "user" and part.part in ("question", "history"):
            for text, injected in pieces(part.text):
                yield replace(part, text=text, role=ROLE if injected else part.role)
        else:
            yield part


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Marked and other stretches in order: joined they are the text. Blanks go with the mark beside them."""
    done = 0
    for start, end in _marked(text):
        if text[done:start].strip():
            yield text[done:start], False
            done = start
        yield text[done:end], True
        done = end
    if done < len(text):
        yield text[done:], False


def _marked(text: str) -> Iterator[tuple[int, int]]:
    """Where each marked stretch begins and ends: at the next closing mark of its name.

    Linear: what was sought in vain is not sought again.
    """
    if "</" not in text:
        return
    place = 0
    unclosed: set[str] = set()
    while opening := _OPENING.search(text, place):
        name, place = opening[1], opening.end()
        if name in unclosed or not _begins(text, opening.start()):
            continue
        closing = text.find(f"</{name}>", place)
        if closing < 0:
            unclosed.add(name)
        else:
            ink = _INK.search(text, closing + len(f"</{name}>"))
            place = ink.start() if ink else len(text)
            yield opening.start(), place


def _begins(text: str, start: int) -> bool:
    """Whether nothing but blanks stands in front of a mark: in its line, or up to another mark."""
    before = text[max(start - _INDENT, 0) : start].rstrip(" \t")
    return not before or before[-1] in "\n>"
