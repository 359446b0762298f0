"""The flags that choose exchanges, the same for every command, and how a choice is said again.

One rule: a moment is read in this machine's zone unless it names one, and never said without its zone.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from .forgotten import moment, unix_ns
from .store.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable

_AGO: Final = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

DATES: Final = "2026-11-01, 2026-11-01T12:00, or 30m, 12h, 3d, 2w for so long ago"
"""What a date may look like."""


class Moment(click.ParamType[int]):
    """A date, a time, or how long ago; becomes ns since 1970."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Fails with what a date may look like."""
        if isinstance(value, int):
            return value
        try:
            return unix_ns(_moment(str(value)))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no date; write one like {DATES}", param, ctx)


def _moment(text: str) -> datetime:
    ago = _AGO.fullmatch(text.strip())
    if ago is None:
        return moment(text)
    return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})


_NAMES: Final = tuple(Selection.__dataclass_fields__)


def _options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option(
            "--since", "since_unix_ns", type=Moment(), metavar="DATE", help="Began then or later."
        ),
        click.option(
            "--until", "until_unix_ns", type=Moment(), metavar="DATE", help="Began before that."
        ),
        click.option("--route", metavar="NAME", help="Of this listen address, label or upstream."),
        click.option("--label", metavar="NAME", help="Of this label."),
        click.option("--client", metavar="TEXT", help="Of clients with this in their name."),
        click.option("--model", metavar="TEXT", help="Of models with this in their name."),
        click.option("--thread", metavar="ID", help="Of this conversation."),
        click.option(
            "--turns-only", is_flag=True, help="No hidden requests, no model lists and the like."
        ),
    )


def selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: gives it the flags, and their values as one `selection`."""

    @functools.wraps(command)
    def selected(*args: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in _NAMES}
        command(*args, selection=Selection(**chosen), **given)

    wrapped: Callable[..., None] = selected
    for option in reversed(_options()):
        wrapped = option(wrapped)
    return wrapped


def words(selection: Selection) -> str:
    """The choice in a few words; empty when it is everything."""
    since, until = selection.since_unix_ns, selection.until_unix_ns
    texts = ("route", "label", "client", "model", "thread")
    said = [
        f"since {local(since)}" if since is not None else "",
        f"until {local(until)}" if until is not None else "",
        *(f"{name} {getattr(selection, name)}" for name in texts if getattr(selection, name)),
        "turns only" if selection.turns_only else "",
    ]
    return ", ".join(filter(None, said))


def local(at_unix_ns: int) -> str:
    """A moment on this machine's clock, with its zone."""
    at = datetime.fromtimestamp(at_unix_ns / 1e9, UTC).astimezone()
    return f"{at:%Y-%m-%d %H:%M:%S} {at.tzname()}"
