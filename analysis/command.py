"""Flags in; a report on stdout, or a sentence on stderr that says what to do.

One rule: what was asked for goes to stdout and nothing else does. Exit 0 fine, 1 found problems,
2 wrong usage.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click

from .explain.overview import overview
from .render.data import report_json
from .render.nothing import nothing_recorded
from .render.screen import WIDEST, Screen
from .store.base import Journal, NoJournalError, Store, StoreError
from .store.folder import FolderStore
from .tail import as_json, as_text, follow

PROGRAM = "turnscope"

HELP = (
    "Say where the wait of a chat client's turns went, from the journal that turnscope-proxy wrote."
)

EPILOG = "Exit status: 0 fine, 1 found problems, 2 wrong usage."

JOURNAL_HELP = (
    "The folder that the proxy writes to.  [default: $XDG_STATE_HOME/turnscope/journal, "
    "else ~/.local/state/turnscope/journal]"
)

TAIL_EPILOG = "Ends with Ctrl-C, status 0; 2 when the folder cannot be read."

REPORT_EPILOG = (
    "Exit status: 0 fine, also with nothing recorded yet; 1 no such folder; 2 wrong usage."
)


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 -- click's signature
    if wanted and not context.resilient_parsing:
        # By name: of `proxy`, analysis imports the journal's format alone, and that through `store`.
        click.echo(f"{PROGRAM}, version {import_module('proxy').__version__}")
        context.exit()


@click.group(
    name=PROGRAM,
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


@turnscope.command(epilog=REPORT_EPILOG)
@click.option(
    "--journal", "folder", metavar="DIR", type=click.Path(path_type=Path), help=JOURNAL_HELP
)
@click.option("--json", "as_data", is_flag=True, help="The same as JSON.")
def report(folder: Path | None, *, as_data: bool) -> None:
    """Say in one screen what was recorded and where the time went."""
    path = folder or default_journal_dir()
    store: Store = FolderStore(path)
    help_on = nothing_recorded(
        str(path), usual=folder is None, proxy=_typed("turnscope-proxy"), report=_typed(PROGRAM)
    )
    try:
        journal = store.journal()
    except NoJournalError:
        click.echo(help_on, err=True, nl=False)
        sys.exit(1)
    except StoreError as fault:
        _refuse(fault)
    if as_data:
        _say(report_json(overview(journal)).decode())
        if not journal.records:
            click.echo(help_on, err=True, nl=False)
    elif journal == Journal():
        _say(help_on)
    else:
        from .render.text import report_text  # noqa: PLC0415 -- rich: -h and tail need it not

        _say(report_text(overview(journal), _screen()))


@turnscope.command(epilog=TAIL_EPILOG)
@click.option(
    "--journal", "folder", metavar="DIR", type=click.Path(path_type=Path), help=JOURNAL_HELP
)
@click.option("--json", "as_data", is_flag=True, help="Whole records, one JSON object a line.")
@click.option(
    "-n",
    "lines",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many to begin with.",
)
def tail(folder: Path | None, lines: int, *, as_data: bool) -> None:
    """Show the last exchanges, then each new one as it ends."""
    text = as_json if as_data else as_text
    try:
        follow(
            FolderStore(folder or default_journal_dir()),
            lines,
            say=lambda record: _say(text(record)),
            complain=lambda what: click.echo(f"{PROGRAM}: {what}", err=True),
        )
    except KeyboardInterrupt:
        return
    except StoreError as fault:
        _refuse(fault)


def default_journal_dir() -> Path:
    """Where the proxy writes unless told otherwise: its `proxy.config` has the same words.

    A relative XDG_STATE_HOME does not count, as the XDG base directory specification asks.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    return base / "turnscope" / "journal"


def _typed(name: str) -> str:
    """A command of ours as it can be typed here: by its name if the shell finds it, else by its path."""
    if shutil.which(name) is None:
        for neighbour in (sys.argv[0], sys.executable):
            path = Path(neighbour).absolute().with_name(name)
            if path.is_file():
                here = Path.cwd()
                short = path.relative_to(here) if path.is_relative_to(here) else path
                return shlex.quote(str(short))
    return name


def _screen() -> Screen:
    """What stdout can show. NO_COLOR: no-color.org."""
    if not sys.stdout.isatty():
        return Screen()
    dumb = os.environ.get("TERM", "dumb") == "dumb" or os.environ.get("NO_COLOR", "") != ""
    return Screen(width=min(WIDEST, os.get_terminal_size().columns or WIDEST), colour=not dumb)


def _say(text: str) -> None:
    """Write to stdout, at once. A reader that has left (`| head`) has all that it wanted: exit 0."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would be written once more at exit, and fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _refuse(fault: StoreError) -> NoReturn:
    click.echo(f"{PROGRAM}: {fault}", err=True)
    sys.exit(2)
