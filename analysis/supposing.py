"""The flags with which a user supposes something about speed, the same for every command that takes them.

One rule: a flag that cannot mean anything is wrong usage, never silently nothing.
"""

from __future__ import annotations

import functools
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from .explain.asked import Asked, ContentKind, Range, Switch

if TYPE_CHECKING:
    from collections.abc import Callable

_RANGE: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


class DecodeSpeedup(click.ParamType[Switch]):
    """`1.42`, or one a kind of answer: `code=2.58,prose=1.11`."""

    name = "s"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Switch:
        """Fails with what it may look like."""
        if isinstance(value, Switch):
            return value
        text = str(value)
        if "=" not in text:
            return Switch(other=self._factor(text, param, ctx))
        kinds: tuple[ContentKind, ...] = get_args(ContentKind)
        given: dict[ContentKind, float] = {}
        for pair in text.split(","):
            name, _, factor = (word.strip() for word in pair.partition("="))
            kind = next((kind for kind in kinds if kind == name), None)
            if kind is None:
                self.fail(f"{name!r} is no kind of answer; they are {', '.join(kinds)}", param, ctx)
            if kind in given:
                self.fail(f"{name} is there twice", param, ctx)
            given[kind] = self._factor(factor, param, ctx)
        return Switch(by_kind=given, other=given.pop("other", 1.0))

    def _factor(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            s = float(text)
        except ValueError:
            s = 0.0
        if s <= 0 or not isfinite(s):
            what = f"{text!r} is no factor above 0; write 1.42, or code=2.58,prose=1.11"
            self.fail(what, param, ctx)
        return s


class WorkingPoint(click.ParamType[Range]):
    """`1`, or `1-4`."""

    name = "range"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Range:
        """Fails with what it may look like."""
        if isinstance(value, Range):
            return value
        found = _RANGE.fullmatch(str(value).strip())
        least, most = (int(n) for n in (found[1], found[2] or found[1])) if found else (0, 0)
        if not 1 <= least <= most:
            self.fail(f"{value!r} is no number of requests at once; write 1, or 1-4", param, ctx)
        return Range(least, most)


def supposing(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: gives it the flags, and their values as one `asked`."""

    @functools.wraps(command)
    def asking(*args: Any, **given: Any) -> None:
        switch, measured = given.pop("switch"), given.pop("measured")
        if measured is not None and switch is None:
            raise click.UsageError(
                "--measured says when the switch of --decode-speedup was: give both"
            )
        if switch is not None:
            switch = Switch(switch.by_kind, switch.other, measured or "before")
        command(*args, asked=Asked(switch, given.pop("working_point")), **given)

    wrapped: Callable[..., None] = asking
    for option in reversed(_options()):
        wrapped = option(wrapped)
    return wrapped


def _options() -> list[Callable[[Any], Any]]:
    return [
        click.option(
            "--decode-speedup",
            "switch",
            type=DecodeSpeedup(),
            metavar="S",
            help="What an engine that decodes S times as fast does: 1.42, or code=2.58,prose=1.11.",
        ),
        click.option(
            "--measured",
            type=click.Choice(["before", "after"]),
            help="The turns ran before that switch, or after it.  [default: before]",
        ),
        click.option(
            "--working-point",
            type=WorkingPoint(),
            metavar="N",
            help="Requests at once, as you know them: 1, or 1-4. No configured limit.",
        ),
    ]
