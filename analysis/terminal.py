"""What all commands share: where the journal is, and how things are said on a terminal.

One rule: what was asked for goes to stdout and nothing else does; progress and complaints go to stderr.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from .render.screen import WIDEST, Screen

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM: Final = "turnscope"

JOURNAL_HELP: Final = (
    "The folder that the proxy writes to.  [default: $XDG_STATE_HOME/turnscope/journal, "
    "else ~/.local/state/turnscope/journal]"
)

INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the signal's number."""


def journal_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a command with `--journal`; its value is `folder`."""
    option = click.option(
        "--journal", "folder", metavar="DIR", type=click.Path(path_type=Path), help=JOURNAL_HELP
    )
    return option(command)


def default_journal_dir() -> Path:
    """Where the proxy writes unless told otherwise: its `proxy.config` has the same words.

    A relative XDG_STATE_HOME does not count, as the XDG base directory specification asks.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    return base / "turnscope" / "journal"


def typed(name: str) -> str:
    """A command of ours as it can be typed here: by its name if the shell finds it, else by its path."""
    if shutil.which(name) is None:
        for neighbour in (sys.argv[0], sys.executable):
            path = Path(neighbour).absolute().with_name(name)
            if path.is_file():
                here = Path.cwd()
                short = path.relative_to(here) if path.is_relative_to(here) else path
                return shlex.quote(str(short))
    return name


def screen() -> Screen:
    """What stdout can show. NO_COLOR: no-color.org."""
    if not sys.stdout.isatty():
        return Screen()
    dumb = os.environ.get("TERM", "dumb") == "dumb" or os.environ.get("NO_COLOR", "") != ""
    return Screen(width=min(WIDEST, os.get_terminal_size().columns or WIDEST), colour=not dumb)


def say(text: str) -> None:
    """Write to stdout, at once. A reader that has left (`| head`) has all that it wanted: exit 0."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would be written once more at exit, and fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def refuse(fault: Exception) -> NoReturn:
    """Say why nothing can be said, and end with 2."""
    click.echo(f"{PROGRAM}: {fault}", err=True)
    sys.exit(2)


def interrupted() -> NoReturn:
    """Ctrl-C: nothing is left half done, so there is nothing to say."""
    click.echo(err=True)
    sys.exit(INTERRUPTED)
