"""Flags that hold two sides of a journal against each other: did a change on the client's side help?

One rule: the two sides never overlap; a turn is on one of them, or on none.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .filters import Moment, local, words
from .store.base import Journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from .explain.versus import Versus
    from .store.duck import DuckStore
    from .store.selection import Selection


class Against(NamedTuple):
    """What is held against what."""

    label: str | None
    """Turns of this label are the side before, all others that are chosen the side after."""
    before_ns: int | None
    """Or: what began before this."""
    after_ns: int | None
    """And what began then or later."""

    def sides(self, selection: Selection) -> tuple[str, str]:
        """Both in words."""
        chosen = words(selection)
        behind = f", {chosen}" if chosen else ""
        if self.label is not None:
            return f"label {self.label}", f"all other labels{behind}"
        return (
            f"before {local(self.before_ns or 0)}{behind}",
            f"since {local(self.after_ns or 0)}{behind}",
        )


def againsting(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: gives it the flags, and their values as one `against`, None without any."""

    @functools.wraps(command)
    def holding(*args: Any, **given: Any) -> None:
        label, before, after = given.pop("versus"), given.pop("before"), given.pop("after")
        against = Against(label, before, after) if (label, before, after) != (None,) * 3 else None
        if against is not None:
            _check(against, given["selection"])
        command(*args, against=against, **given)

    wrapped: Callable[..., None] = holding
    for option in reversed(_options()):
        wrapped = option(wrapped)
    return wrapped


def _check(against: Against, selection: Selection) -> None:
    label, before, after = against
    if label is not None and label == selection.label:
        raise click.UsageError(
            "--label and --versus name the same label: there would be no other side"
        )
    if label is not None and (before is not None or after is not None):
        raise click.UsageError(
            "--versus names the side before by its label: leave --before and --after out"
        )
    if label is None and (before is None or after is None):
        raise click.UsageError(
            "--before says where the first side ends, --after where the second begins: give both"
        )
    if before is not None and after is not None and before > after:
        raise click.UsageError("--after is earlier than --before: the two sides would overlap")


def _options() -> list[Callable[[Any], Any]]:
    return [
        click.option(
            "--versus",
            metavar="LABEL",
            help="Did it help? All that is chosen, against what has this label.",
        ),
        click.option(
            "--before",
            type=Moment(),
            metavar="DATE",
            help="Did it help? What began before that ...",
        ),
        click.option(
            "--after", type=Moment(), metavar="DATE", help="... against what began then or later."
        ),
    ]


def compared(store: DuckStore, selection: Selection, against: Against) -> Versus:
    """Read both sides and hold them against each other. Raises StoreError."""
    from .explain.overview import overview  # noqa: PLC0415 -- -h needs none of it
    from .explain.versus import versus  # noqa: PLC0415 -- as above

    before, after = _read(store, selection, against)
    return versus(before.records, after.records, overview(before), overview(after))


def _read(store: DuckStore, selection: Selection, against: Against) -> tuple[Journal, Journal]:
    if against.label is not None:
        before = store.journal(replace(selection, label=against.label))
        chosen = store.journal(selection)
        others = tuple(r for r in chosen.records if r.label != against.label)
        return before, Journal(records=others, tool_sets=chosen.tool_sets)
    return (
        store.journal(
            replace(selection, until_unix_ns=_least(against.before_ns, selection.until_unix_ns))
        ),
        store.journal(
            replace(selection, since_unix_ns=_most(against.after_ns, selection.since_unix_ns))
        ),
    )


def _least(one: int | None, other: int | None) -> int | None:
    return min((n for n in (one, other) if n is not None), default=None)


def _most(one: int | None, other: int | None) -> int | None:
    return max((n for n in (one, other) if n is not None), default=None)
