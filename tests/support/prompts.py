"""Prompts of many sizes, made of what lies around: this project's pages, the standard library, its functions.

One rule: the same on each run, and nobody else's prompt. English, code, numbers in JSON, calls and results.
"""

from __future__ import annotations

import inspect
import os.path
import pathlib
import shutil
import string
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from tests.support.source import ROOT

if TYPE_CHECKING:
    from types import ModuleType

Message = dict[str, Any]

_MODULES: Final = (os.path, shutil, textwrap, inspect, string, pathlib)


@dataclass(frozen=True)
class Prompt:
    """One chat request."""

    name: str
    messages: list[Message]
    tools: list[dict[str, Any]]

    def body(self, model: str) -> dict[str, Any]:
        """As a client sends it, for one token of answer."""
        offered = {"tools": self.tools} if self.tools else {}
        return {"model": model, "messages": self.messages, "max_tokens": 1, **offered}


def prose(size: int, start: int = 0) -> str:
    """So many characters of English."""
    pages = [
        (ROOT / "docs" / name).read_text("utf-8") for name in ("journal.md", "configuration.md")
    ]
    return _stretch("".join(pages), size, start)


def code(size: int, start: int = 0) -> str:
    """So many characters of Python."""
    return _stretch(inspect.getsource(inspect) + inspect.getsource(textwrap), size, start)


def numbers(rows: int) -> str:
    """A table as tools give it back."""
    table = [
        {"id": n, "price": n * 17.35, "name": f"item {n}", "seen": 1790 * n} for n in range(rows)
    ]
    return orjson.dumps(table).decode()


def tools(count: int) -> list[dict[str, Any]]:
    """Functions of the standard library as definitions, 40 to 300 tokens each."""
    found = [function for module in _MODULES for function in _functions(module)]
    return [_definition(found[n % len(found)], n) for n in range(count)]


def prompts() -> list[Prompt]:
    """Ten prompts of about 50 to 20,000 tokens with 0 to 60 tools."""
    system = {"role": "system", "content": prose(700)}
    long_system = {"role": "system", "content": prose(12_000)}
    return [
        Prompt("a question", [_user(code(180))], []),
        Prompt("with a system prompt", [system, _user(prose(260, 900))], []),
        Prompt("one tool", [system, _user(prose(300, 2_000))], tools(1)),
        Prompt("tools and no system prompt", [_user(prose(500, 4_000))], tools(9)),
        Prompt("a conversation", [system, *_talk(6), _user(prose(400))], []),
        Prompt("a loop", [system, _user(prose(300)), *_loop(3)], tools(9)),
        Prompt(
            "a late loop", [system, *_talk(4), *_loop(1), _user(code(900)), *_loop(4)], tools(20)
        ),
        Prompt("many tools", [long_system, *_talk(2), _user(prose(300))], tools(40)),
        Prompt("a long conversation", [system, *_talk(16, 2_400), _user(prose(300))], tools(9)),
        Prompt(
            "an agent", [long_system, *_talk(10, 2_000), _user(code(900)), *_loop(9)], tools(60)
        ),
    ]


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _talk(turns: int, size: int = 700) -> list[Message]:
    """Questions in prose, answers that are half code."""
    said: list[Message] = []
    for n in range(turns):
        said.append(_user(prose(size // 2, 731 * n)))
        answer = (
            prose(size // 2, 997 * n) + "\n```python\n" + code(size // 2, 1_201 * n) + "\n```\n"
        )
        said.append({"role": "assistant", "content": answer})
    return said


def _loop(steps: int) -> list[Message]:
    """Calls and what came of them: a file, then a table, in turns."""
    said: list[Message] = []
    for n in range(steps):
        given = orjson.dumps({"path": f"src/part_{n}.py", "lines": [n, n + 40]}).decode()
        function = {"name": f"read_{n}", "arguments": given}
        call = {"id": f"call_{n}", "type": "function", "function": function}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = code(1_500, 1_777 * n) if n % 2 else numbers(12)
        said.append({"role": "tool", "tool_call_id": f"call_{n}", "content": result})
    return said


def _stretch(text: str, size: int, start: int) -> str:
    start %= max(len(text) - size, 1)
    return text[start : start + size]


def _functions(module: ModuleType) -> list[Any]:
    named = inspect.getmembers(module, inspect.isfunction)
    return [function for name, function in named if not name.startswith("_") and function.__doc__]


def _definition(function: Any, number: int) -> dict[str, Any]:
    names = list(inspect.signature(function).parameters)
    fields = {
        name: {"type": "string", "description": f"What is taken as {name}, see above."}
        for name in names
    }
    shape = {"type": "object", "properties": fields, "required": names[:1]}
    described = {
        "name": f"{function.__name__}_{number}",
        "description": inspect.cleandoc(function.__doc__)[:900],
        "parameters": shape,
    }
    return {"type": "function", "function": described}
