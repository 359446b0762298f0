"""`turnscope explain`: one exchange in its turn, with all its marks and parts.

One rule: an id that is not there is answered with those that are.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from .filters import selecting
from .progress import ProgressLine
from .report import asked_for
from .store.base import NoJournalError, StoreError
from .store.duck import DuckStore
from .store.selection import EVERYTHING
from .terminal import PROGRAM, default_journal_dir, interrupted, journal_option, refuse, say, screen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .explain.explained import Choice, NoChoice
    from .store.base import Journal
    from .store.recorded import Record
    from .store.selection import Selection

EPILOG: Final = (
    "ID is that of an exchange, or what stands behind its last dash; a turn has that of its first."
    " Exit status: 0 fine; 1 no such exchange, or nothing recorded; 2 wrong usage."
)

WHICH: Final = "say which one: an ID (turnscope report and tail show them), --last or --worst"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which exchange was asked for: exactly one of these."""

    name: str | None
    """Its id, or the end of it."""
    pick: Literal["last", "worst"] | None
    by: Literal["whole", "ttft"] = "whole"
    """What makes a turn the worst."""


def choosing(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: gives it what says which exchange, as one `wanted`."""

    @functools.wraps(command)
    def chosen(*args: Any, **given: Any) -> None:
        name, last, worst, by = (given.pop(each) for each in ("name", "last", "worst", "by"))
        if [name is not None, last, worst].count(True) != 1:
            raise click.UsageError(WHICH)
        if by and not worst:
            raise click.UsageError("--by says what makes a turn the worst: give --worst with it")
        pick: Literal["last", "worst"] | None = "last" if last else "worst" if worst else None
        command(*args, wanted=Wanted(name, pick, by or "whole"), **given)

    by = click.option(
        "--by",
        type=click.Choice(("whole", "ttft")),
        help="Slowest by its whole time, or by a wait for a first token.  [default: whole]",
    )
    last = click.option("--last", is_flag=True, help="The last turn.")
    worst = click.option("--worst", is_flag=True, help="The slowest turn.")
    name = click.argument("name", metavar="[ID]", required=False)
    wrapped: Callable[..., None] = name(last(worst(by(chosen))))
    return wrapped


@click.command(epilog=EPILOG)
@choosing
@journal_option
@selecting
@click.option("--json", "as_data", is_flag=True, help="The same as JSON.")
def explain(folder: Path | None, selection: Selection, wanted: Wanted, *, as_data: bool) -> None:
    """Show one exchange in its turn: what happened when, and what it waited for."""
    progress = ProgressLine()
    store = DuckStore(folder or default_journal_dir(), progress, compact_from=None)
    try:
        try:
            journal = store.journal(selection)
            found = _choose(store, journal, selection, wanted)
            records = journal.records
            record = getattr(found, "record", None)
            if record is not None and (journal.sampling or selection != EVERYTHING):
                records = _with(records, store.turn_of(record.id))
        finally:
            progress.done()
        _show(found, records, asked_for(journal, selection), as_data=as_data)
    except NoJournalError as missing:
        click.echo(f"{PROGRAM}: {missing}: nothing has been recorded there", err=True)
        sys.exit(1)
    except StoreError as fault:
        refuse(fault)
    except KeyboardInterrupt:
        interrupted()


def _choose(
    store: DuckStore, journal: Journal, selection: Selection, wanted: Wanted
) -> Choice | NoChoice:
    """Of what is in memory; where that is a sample, of what the store itself finds as well."""
    from .explain.explained import Choice, last, named, worst  # noqa: PLC0415 -- -h needs none of it

    sampled = journal.sampling is not None
    if wanted.name is not None:
        alone = store.one(wanted.name) if sampled else None
        return Choice(alone, "") if alone else named(journal.records, wanted.name)
    if wanted.pick == "last":
        return last(journal.records)
    slowest = store.worst(selection) if sampled else None
    beside = store.turn_of(slowest) if slowest else ()
    return worst(_with(journal.records, beside), wanted.by)


def _with(records: tuple[Record, ...], others: tuple[Record, ...]) -> tuple[Record, ...]:
    """Both, none of them twice."""
    there = {record.id for record in records}
    return (*records, *(record for record in others if record.id not in there))


def _show(
    found: Choice | NoChoice, records: tuple[Record, ...], about: str, *, as_data: bool
) -> None:
    from .explain.explained import NoChoice, explained  # noqa: PLC0415 -- as above
    from .render.explain_data import explain_json, nothing_json  # noqa: PLC0415 -- as above
    from .render.explain_screen import explain_text, nothing_to_explain  # noqa: PLC0415 -- as above

    if isinstance(found, NoChoice):
        click.echo(nothing_to_explain(found), err=True, nl=False)
        if as_data:
            say(nothing_json(found).decode())
        sys.exit(1)
    shown = explained(found, records)
    say(explain_json(shown).decode() if as_data else about + explain_text(shown, screen()))
