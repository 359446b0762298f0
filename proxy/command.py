"""Flags in, a running proxy or one clear refusal out.

One rule: what the operator got wrong is said whole, on stderr, before anything is started: exit 2.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import click

from . import __version__, certificate, tokenizer_file
from .config import STATUS_LISTEN, Config, ConfigError, Flags
from .configfile import load
from .greeting import exposure, exposure_of_status, greeting

PROGRAM = "turnscope-proxy"

HELP = """Relay a chat client's traffic to its inference server, unchanged, and record where the wait went.

With no flag and no file: listens on 127.0.0.1:8484 and leads to http://127.0.0.1:8000. Flags win over
the file. Then `turnscope report` reads the journal.
"""


@click.command(
    name=PROGRAM,
    help=HELP,
    epilog="Exit status: 0 stopped in order or no faults found, 2 wrong usage or no start.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--listen", metavar="HOST:PORT", help="Where clients connect.")
@click.option("--upstream", metavar="URL", help="The inference server: scheme, host and port.")
@click.option("--label", metavar="TEXT", help="A word for the route in records and lines.")
@click.option("--journal", metavar="DIR", help="The folder for records.")
@click.option("--status", metavar="HOST:PORT", help="Where its own pages are; off: nowhere.")
@click.option("--quiet", is_flag=True, default=None, help="Say no line for each exchange.")
@click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="A TOML file.")
@click.option("--check", is_flag=True, help="Say what would be done, and stop.")
@click.version_option(__version__, prog_name=PROGRAM)
def turnscope_proxy(*, config: Path | None, check: bool, **flags: Any) -> None:
    """See HELP."""
    try:
        wanted = load(config, Flags(**flags))
    except ConfigError as error:
        _refuse_faults(config, error)
    if fault := journal_fault(wanted.journal.dir):
        _refuse(fault)
    if (file := wanted.tokenizer.file) and (fault := tokenizer_file.fault(file)):
        _refuse(fault)
    if faults := certificate.faults(wanted.route):
        _refuse_faults(config, ConfigError(faults))
    if check:
        click.echo("\n".join(_plan(wanted)))
        return
    from .server import run  # noqa: PLC0415 -- --check and -h need no event loop
    from .serving import StartError  # noqa: PLC0415

    try:
        status = run(wanted)
    except StartError as error:
        _refuse(str(error))
    sys.exit(status)


def journal_fault(folder: Path) -> str | None:
    """Why no record could be written there, and what to do; None if all is well.

    A folder that is not there yet is judged by the nearest that is. Leaves nothing behind.
    """
    there = folder.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        return (
            f"the journal folder {folder} cannot be written ({error.strerror}, at {there}); "
            "name another with --journal"
        )
    return None


def _plan(config: Config) -> list[str]:
    found = [
        judge(route) for route in config.route for judge in (exposure, certificate.exposure_of_key)
    ]
    risks = [f"warning: {risk}" for risk in found if risk]
    journal = f"records go to {config.journal.dir}, which can be written"
    counts = {
        "private": "by servers that count, at loopback and private addresses, else here",
        "any": "by servers that count, wherever they are, else here",
        "off": "here",
    }[config.tokenizer.server]
    counting = f"prompts are counted {counts}, with {config.tokenizer.file or 'tiktoken'}"
    done = [*map(greeting, config.route), *risks, journal, counting, *_status_plan(config)]
    return ["no faults found; this would be done:", *done]


def _status_plan(config: Config) -> list[str]:
    if not config.status.enabled:
        return ["no status pages"]
    listen = config.status.listen
    if listen is None:
        return [f"status pages at {STATUS_LISTEN}, or none if that is taken"]
    risk = exposure_of_status(listen)
    return [f"status pages at {listen}", *([f"warning: {risk}"] if risk else [])]


def _refuse_faults(config: Path | None, error: ConfigError) -> NoReturn:
    source = "the command line" if config is None else str(config)
    hint = " (route[0] is the first [[route]])" if "route[" in str(error) else ""
    count = len(error.faults)
    head = f"{source} has {count} fault{'s' if count > 1 else ''}{hint}:"
    _refuse("\n  ".join([head, *map(str, error.faults)]))


def _refuse(why: str) -> NoReturn:
    click.echo(f"{PROGRAM}: {why}", err=True)
    sys.exit(2)
