"""`python -m clients`, which `make clients` runs: install, one turn each, and the table.

One rule: a difference is a result (exit 1), and so is a client that does not run; only a wrong word on the
command line, or a place that cannot be closed off, is an error (exit 2).
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import click
import msgspec
from rich.console import Console

from demo.child import ROOT
from demo.proxied import shown

from .catalog import CLIENTS, named
from .install import InstallError, installed
from .isolation import IsolationError, prefix
from .known import Known, differences, known
from .listing import WIDTH, Row, table
from .seen import seen
from .turn import COUNTED, EXACT, TURN_S, Ended, folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .catalog import Client

INTRODUCTION: Final = """\
Real clients, one turn each (`hi`), through turnscope-proxy, each in a place with loopback alone. Tokens by
o200k_base, as the known figures were counted; `billed` is the server's number for the same prompt."""

_BEYOND_S: Final = 120.0
"""What a turn may take beyond the client's own time: servers that start and stop."""


class NoTurnError(Exception):
    """A client's turn could not be begun."""


@click.command(epilog="Exit status: 0 all as known, 1 something differs, 2 wrong usage.")
@click.argument("names", nargs=-1, metavar=f"[{'|'.join(client.name for client in CLIENTS)}]...")
@click.option("--all", "everything", is_flag=True, help="The heavy ones too.")
@click.option(
    "--no-namespace", is_flag=True, help="Let clients run where they may reach the network."
)
def main(names: tuple[str, ...], *, everything: bool, no_namespace: bool) -> None:
    """Run real clients through the proxy, and compare what they send with what is known of them."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        clients = named(names, everything=everything)
        shut_in = [] if no_namespace else prefix()
    except (ValueError, IsolationError) as error:
        console.print(f"clients: {error}")
        sys.exit(2)
    console.print(INTRODUCTION)
    for client in CLIENTS:
        if client.heavy and client not in clients:
            console.print(f"  {client.name} is left out unless named: {client.heavy}")
    expected = known()
    rows = []
    for client in clients:
        console.print(f"  {client.name} ...")
        rows.append(row(client, shut_in, expected[client.name]))
    show(rows)
    sys.exit(1 if any(row.differences for row in rows) else 0)


def row(client: Client, shut_in: Sequence[str], expected: Known) -> Row:
    """Install a client, let it have its turn, and compare."""
    version = "-"
    try:
        version = installed(client)
        ended = take_turn(client, shut_in)
    except (InstallError, NoTurnError) as error:
        return Row(client.name, version, None, [str(error)])
    turn = seen(folder(client.name))
    found = differences(expected, version, turn)
    if ended.code != 0:
        how = "in time" if ended.code is None else f"well: exit code {ended.code}"
        found.insert(0, f"it did not end {how}; see {shown(folder(client.name))}/client.log")
    return Row(client.name, version, turn, found, ended.seconds)


def take_turn(client: Client, shut_in: Sequence[str]) -> Ended:
    """One turn in a process of its own, shut in or not. Raises NoTurnError."""
    command = [*shut_in, sys.executable, "-m", "clients.turn", client.name]
    if not shut_in:
        command.append("--no-namespace")
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, timeout=TURN_S + _BEYOND_S, check=True
        )
    except subprocess.CalledProcessError as error:
        said: bytes = error.stderr
        raise NoTurnError(said.decode("utf-8", "replace").strip()) from None
    except subprocess.TimeoutExpired as error:
        raise NoTurnError(f"it took over {error.timeout:.0f} s") from None
    return msgspec.json.decode(done.stdout, type=Ended)


def show(rows: Sequence[Row]) -> None:
    """The table and the differences on stdout."""
    out = Console(highlight=False, markup=False, soft_wrap=True)
    if not out.is_terminal:
        out.width = WIDTH
    out.print(table(rows))
    for each in rows:
        for what in each.differences:
            out.print(f"{each.client}: {what}")
    ran = [each for each in rows if each.seen]
    for each in ran:
        journal = shown(folder(each.client))
        out.print(f"journal of {each.client}: {journal}/{EXACT}, {journal}/{COUNTED}")
        for note in each.seen.notes if each.seen else ():
            out.print(f"  note: {note}")


if __name__ == "__main__":
    main()
