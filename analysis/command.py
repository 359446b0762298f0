"""Flags in; a report on stdout, or a sentence on stderr that says what to do.

One rule: what was asked for goes to stdout and nothing else does. Exit 0 fine, 1 found problems,
2 wrong usage.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from . import forgotten
from .explaining import explain
from .filters import selecting
from .forgetting import Forgetting
from .render.screen import WIDEST
from .report import report
from .store.base import StoreError
from .store.folder import FolderStore
from .tail import as_json, as_text, follow
from .terminal import PROGRAM, default_journal_dir, journal_option, refuse, say

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from .store.selection import Selection


HELP = (
    "Say where the wait of a chat client's turns went, from the journal that turnscope-proxy wrote."
)

EPILOG = "Exit status: 0 fine, 1 found problems, 2 wrong usage."

TAIL_EPILOG = "Ends with Ctrl-C, status 0; 2 when the folder cannot be read."

FORGET_EPILOG = (
    "Exit status: 0 fine, also with nothing that old; 1 something is still there, or the answer was no; "
    "2 wrong usage, or no such folder."
)


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 -- click's signature
    if wanted and not context.resilient_parsing:
        # By name: of `proxy`, analysis imports the journal's format alone, and that through `store`.
        click.echo(f"{PROGRAM}, version {import_module('proxy').__version__}")
        context.exit()


@click.group(
    name=PROGRAM,
    commands=[report, explain],
    help=HELP,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def turnscope() -> None:
    """See HELP."""
    # Others' names may hold letters that a terminal of another encoding has not.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@turnscope.command(epilog=TAIL_EPILOG)
@journal_option
@click.option("--json", "as_data", is_flag=True, help="Whole records, one JSON object a line.")
@click.option(
    "-n",
    "lines",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many to begin with.",
)
@selecting
def tail(folder: Path | None, lines: int, selection: Selection, *, as_data: bool) -> None:
    """Show the last exchanges, then each new one as it ends."""
    text = as_json if as_data else as_text
    try:
        follow(
            FolderStore(folder or default_journal_dir()),
            lines,
            say=lambda record: say(text(record)),
            complain=lambda what: click.echo(f"{PROGRAM}: {what}", err=True),
            selection=selection,
        )
    except KeyboardInterrupt:
        return
    except StoreError as fault:
        refuse(fault)


@turnscope.command(epilog=FORGET_EPILOG)
@click.option(
    "--before",
    metavar="DATE",
    required=True,
    callback=lambda *given: _moment(given[2]),
    help="2026-11-01, or a time like 2026-11-01T12:00; of this machine's zone unless it names one.",
)
@journal_option
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask, on a terminal either.")
@click.option("--json", "as_data", is_flag=True, help="The same as JSON.")
def forget(
    before: datetime, folder: Path | None, *, dry_run: bool, yes: bool, as_data: bool
) -> None:
    """Remove the records of exchanges that began before a moment."""
    path = folder or default_journal_dir()
    try:
        if not (dry_run or yes) and sys.stdin.isatty():
            planned = Forgetting(path, forgotten.unix_ns(before), dry_run=True)
            planned.run()
            if planned.done.removed or planned.done.rewritten:
                click.echo(forgotten.as_text(planned, before), err=True, nl=False)
                click.confirm(forgotten.question(planned), abort=True, err=True)
        pass_ = Forgetting(path, forgotten.unix_ns(before), dry_run=dry_run)
        _run(pass_)
    except StoreError as fault:
        refuse(fault)
    say((forgotten.as_json if as_data else forgotten.as_text)(pass_, before))
    if pass_.cut_short:
        click.echo(f"{PROGRAM}: interrupted; the journal is whole, the rest still there", err=True)
    if pass_.cut_short or pass_.done.left:
        sys.exit(1)


def _moment(text: str) -> datetime:
    try:
        return forgotten.moment(text)
    except ValueError:
        what = f"{text!r} is no date; write one like 2026-11-01, or a time like 2026-11-01T12:00"
        raise click.BadParameter(what) from None


def _run(pass_: Forgetting) -> None:
    """Run it, or as much of it as Ctrl-C allows: that ends it between two files, never within one."""
    usual = signal.signal(signal.SIGINT, lambda *_: pass_.stop())
    try:
        pass_.run()
    finally:
        signal.signal(signal.SIGINT, usual)
