"""`turnscope report`: what was recorded, or was of what was asked for, and where the time went.

One rule: an empty answer says what there is instead, so that the next question can be a better one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Final

import click

from .against import Against, againsting, compared
from .filters import local, selecting, words
from .outputting import Output, outputting
from .paging import Page, write_page
from .progress import ProgressLine
from .store.base import Journal, NoJournalError, StoreError
from .store.duck import DuckStore
from .store.selection import EVERYTHING
from .supposing import supposing
from .terminal import (
    PROGRAM,
    default_journal_dir,
    interrupted,
    journal_option,
    refuse,
    say,
    screen,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .explain.asked import Asked
    from .store.selection import Selection
    from .store.tallies import Tallies

EPILOG: Final = (
    "Exit status: 0 fine, also with nothing recorded yet; 1 no such folder, or nothing of what was asked "
    "for; 2 wrong usage."
)

NAMED: Final = 5
"""Names that are listed at most."""

LONG_BYTES: Final = 4 * 2**20
LOADED_MEANWHILE: Final = "analysis.stats.robust"
"""What is imported while the journal is read: scipy takes a second, most of which is not Python's own."""


@click.command(epilog=EPILOG)
@journal_option
@selecting
@supposing
@outputting
@againsting
def report(
    folder: Path | None,
    selection: Selection,
    asked: Asked,
    output: Output,
    against: Against | None,
) -> None:
    """Say in one screen what was recorded and where the time went."""
    path = folder or default_journal_dir()
    progress = ProgressLine()
    if _long(path):
        Thread(target=import_module, args=(LOADED_MEANWHILE,), daemon=True).start()
    store = DuckStore(path, progress)
    if not output.compact:
        store = replace(store, compact_from=None)
    try:
        if against is not None:
            _against(store, selection, against, as_data=output.as_data)
            return
        try:
            journal = store.journal(selection)
            held = None if journal.records or selection == EVERYTHING else store.tallies()
        finally:
            progress.done()
        if held is not None and held.exchanges:
            click.echo(f"{PROGRAM}: {nothing_of(selection, held)}", err=True)
            sys.exit(1)
        _show(journal, selection, asked, output, _help(path, usual=folder is None))
    except NoJournalError:
        click.echo(_help(path, usual=folder is None), err=True, nl=False)
        sys.exit(1)
    except StoreError as fault:
        refuse(fault)
    except KeyboardInterrupt:
        interrupted()


def _show(
    journal: Journal, selection: Selection, asked: Asked, output: Output, help_on: str
) -> None:
    from .explain.overview import overview  # noqa: PLC0415 -- -h needs none of it

    if replace(journal, tallies=None) == Journal() and not output.as_data:
        say(help_on)
        return
    shown = overview(journal, asked)
    if output.as_data:
        from .render.data import report_json  # noqa: PLC0415 -- as above

        say(report_json(shown, selection).decode())
        if not journal.records:
            click.echo(help_on, err=True, nl=False)
    else:
        from .render.text import report_text  # noqa: PLC0415 -- rich: as above

        say(asked_for(journal, selection) + report_text(shown, screen()))
    if output.html is not None:
        _page(output.html, Page(shown, journal, selection), opened=output.opened)


def _against(store: DuckStore, selection: Selection, against: Against, *, as_data: bool) -> None:
    """Both sides held against each other; status 1 when nothing could be."""
    from .explain.source import Refusal  # noqa: PLC0415 -- as above
    from .render.versus import versus_json, versus_text  # noqa: PLC0415 -- as above

    found, sides = compared(store, selection, against), against.sides(selection)
    if against.label is not None and not found.before.turns:
        held = _names("routes", store.tallies().routes)
        click.echo(
            f"{PROGRAM}: no turn has the label {against.label!r}. The journal has {held}.", err=True
        )
        sys.exit(1)
    say(versus_json(found, *sides).decode() if as_data else versus_text(found, *sides))
    if isinstance(found.change, Refusal):
        sys.exit(1)


def _page(path: Path, page: Page, *, opened: bool) -> None:
    """Write it, say where, and show it if that is wanted."""
    try:
        write_page(path, page)
    except OSError as fault:
        click.echo(f"{PROGRAM}: the page was not written: {path}: {fault.strerror}", err=True)
        sys.exit(2)
    click.echo(f"{PROGRAM}: page: {path}", err=True)
    if opened and click.launch(str(path.resolve())):
        click.echo(f"{PROGRAM}: no browser could be started; open {path} yourself", err=True)


def _long(path: Path) -> bool:
    """Whether reading takes so long that something else can be done meanwhile."""
    try:
        return sum(file.stat().st_size for file in path.iterdir()) > LONG_BYTES
    except OSError:
        return False  # what is wrong with it is said by whoever reads it


def _help(path: Path, *, usual: bool) -> str:
    from .render.nothing import nothing_recorded  # noqa: PLC0415 -- as above

    return nothing_recorded(
        str(path), usual=usual, proxy=typed("turnscope-proxy"), report=typed(PROGRAM)
    )


def asked_for(journal: Journal, selection: Selection) -> str:
    """What the report is about, if that is not all: a line for the choice and one for the sample."""
    lines = [f"Only: {said}\n"] if (said := words(selection)) else []
    if taken := journal.sampling:
        lines.append(
            f"From {taken.taken:,} of {taken.of:,} exchanges ({taken.turns_taken:,} of"
            f" {taken.turns_of:,} turns), evenly spaced\n"
        )
    return "".join([*lines, "\n"]) if lines else ""


def nothing_of(selection: Selection, held: Tallies) -> str:
    """Why there is no report although there is a journal."""
    from .render.units import plural  # noqa: PLC0415 -- as above

    said = f"nothing was recorded that is {words(selection)}"
    if held.first_unix_ns is None or held.last_unix_ns is None:
        return said
    has = [
        f"{plural(held.exchanges, 'exchange')} from {local(held.first_unix_ns)} to {local(held.last_unix_ns)}",
        _names("routes", held.routes),
        _names("models", held.models),
        _names("clients", held.clients),
    ]
    return f"{said}. The journal has {'; '.join(filter(None, has))}."


def _names(what: str, counts: Mapping[str, int]) -> str:
    from .render.names import printable  # noqa: PLC0415 -- as above

    shown = [printable(name) for name in list(counts)[:NAMED]]
    more = f" and {len(counts) - NAMED:,} more" if len(counts) > NAMED else ""
    return f"{what}: {', '.join(shown)}{more}" if shown else ""
