"""Names of the product as pages write them in backquotes and shell blocks, held against the product.

One rule: only what has the shape of something of ours is judged; everything else is just prose.
"""

from __future__ import annotations

import re
import shlex
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

import click
import msgspec

from analysis.command import turnscope
from proxy.command import turnscope_proxy
from proxy.config import Config, Route
from proxy.journal.names import FORGOTTEN
from proxy.journal.record import Record
from proxy.log import Event

from .source import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PROGRAMS: Final[Mapping[str, click.Command]] = {
    "turnscope-proxy": turnscope_proxy,
    "turnscope": turnscope,
    **{f"turnscope {name}": command for name, command in turnscope.commands.items()},
}
PACKAGES: Final = {"proxy": "turnscope-proxy", "analysis": "turnscope"}
"""What `python -m` runs."""

TARGETS: Final = re.findall(
    r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
)
PASSES_ON: Final = {"run": "turnscope-proxy", "analyze": "turnscope report"}
"""Targets whose ARGS go to a command."""

KEYS: Final = {
    name: list(get_type_hints(Route if name == "route" else kind))
    for name, kind in get_type_hints(Config).items()
}
THEIRS: Final = {
    "config.toml",  # the reader's own
    "stream_options.include_usage",  # OpenAI's
}
"""Quoted names that are nothing of this project."""


def flags(program: str) -> set[str]:
    """All flags of a command, help included."""
    parent = click.Context(turnscope, **turnscope.context_settings)
    own = PROGRAMS[program]
    context = click.Context(own, parent=parent, **own.context_settings)
    given = {flag for each in own.get_params(context) for flag in each.opts}
    return given | set(context.help_option_names)


def fields(kind: type, prefix: str = "") -> Iterator[str]:
    """Dotted names of all fields of a struct and of the structs in it."""
    for name, hint in get_type_hints(kind).items():
        yield f"{prefix}{name}"
        for inner in (hint, *get_args(hint)):
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                yield from fields(inner, f"{name}.")


DOTTED: Final = {
    *(f"{table}.{key}" for table, keys in KEYS.items() for key in keys),
    *(event.value.name for event in Event),
    *fields(Record),
    *THEIRS,
}
"""Keys, events and fields of records."""


def faults_of_command(words: Sequence[str]) -> list[str]:
    """What is wrong with a command line that begins with a program of ours or with make."""
    if words[0] == "make":
        return _faults_of_make(words[1:])
    program, rest = words[0], list(words[1:])
    if words[:2] == ["python", "-m"]:
        program, rest = PACKAGES.get(words[2], words[2]), list(words[3:])
    if rest and f"{program} {rest[0]}" in PROGRAMS:
        program = f"{program} {rest.pop(0)}"
    if program not in PROGRAMS:
        return [f"there is no command {program}"]
    known = flags(program)
    wrong = [word for word in rest if word.startswith("-") and word not in known]
    if program == "turnscope":
        wrong += [word for word in rest[:1] if not word.startswith("-")]
    return [f"{program} has no {word}" for word in wrong]


def _faults_of_make(words: Sequence[str]) -> list[str]:
    named = [word for word in words if re.fullmatch(r"[a-z]+", word)]
    faults = [f"make has no target {word}" for word in named if word not in TARGETS]
    given = next((w.removeprefix("ARGS=") for w in words if w.startswith("ARGS=")), "")
    if named and named[0] in PASSES_ON:
        faults += faults_of_command([*PASSES_ON[named[0]].split(), *shlex.split(given)])
    return faults


def faults_of_quote(quote: str, heading: str, folder: Path) -> list[str]:
    """What is wrong with something in backquotes.

    Files may stand below the page's own folder, or below the one that the heading names.
    """
    if re.match(r"(make|turnscope|turnscope-proxy|python -m \w+)( |$)", quote):
        return faults_of_command(shlex.split(quote))
    if quote.startswith("--"):
        known = set(chain.from_iterable(map(flags, PROGRAMS)))
        return _unless(quote.split(maxsplit=1)[0] in known, f"no command has {quote}")
    if re.fullmatch(r"[\w./-]+(\.(py|md|toml|txt|json)|/)", quote):
        places = [ROOT / quote, folder / quote, ROOT / heading.strip("`") / quote]
        found = quote in THEIRS or any(place.exists() for place in places)
        return _unless(found, f"there is no file {quote}")
    if re.fullmatch(r"[a-z_]+\.[a-z_]+", quote):
        return _unless(quote in DOTTED or quote == FORGOTTEN, f"{quote} is no key, event or field")
    return _faults_of_key(quote)


def _faults_of_key(quote: str) -> list[str]:
    """`[table] key` and `key = value`, as in a config file."""
    if found := re.fullmatch(r"\[+([a-z]+)\]+(?: (\w+))?", quote):
        table, key = found.groups()
        known: Any = KEYS.get(table)
        right = known is not None and (key is None or key in known)
        return _unless(right, f"there is no key {quote}")
    if found := re.fullmatch(r"([a-z_]+) = .*", quote):
        return _unless(
            found[1] in chain.from_iterable(KEYS.values()), f"there is no key {found[1]}"
        )
    return []


def _unless(right: bool, fault: str) -> list[str]:  # noqa: FBT001 -- the question is the point
    return [] if right else [fault]
