"""Flags of the report for what it becomes: a screen, JSON, a page in a browser.

One rule: the page is written beside what is printed, never in its place.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable


class Output(NamedTuple):
    """What is wanted."""

    as_data: bool
    html: Path | None
    """Where the page goes; None: no page."""
    opened: bool
    """Show it in the browser."""
    compact: bool
    """Closed segments may be packed by the way."""


def outputting(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: gives it the flags, and their values as one `output`."""

    @functools.wraps(command)
    def wanting(*args: Any, **given: Any) -> None:
        html, opened = given.pop("html"), given.pop("opened")
        if opened and html is None:
            html = Path("report.html")
        command(
            *args,
            output=Output(given.pop("as_data"), html, opened, not given.pop("no_compact")),
            **given,
        )

    wrapped: Callable[..., None] = wanting
    for option in reversed(_options()):
        wrapped = option(wrapped)
    return wrapped


def _options() -> list[Callable[[Any], Any]]:
    return [
        click.option("--json", "as_data", is_flag=True, help="The same as JSON."),
        click.option(
            "--html",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="PATH",
            help="Write it as a page, too: one file that needs nothing else.",
        ),
        click.option(
            "--open",
            "opened",
            is_flag=True,
            help="Show the page in the browser.  [default PATH: report.html]",
        ),
        click.option(
            "--no-compact", is_flag=True, help="Only read: leave closed segments as they are."
        ),
    ]
