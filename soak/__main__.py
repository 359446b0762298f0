"""`python -m soak`, which `make soak` runs: load and faults, and whether anything was harmed by them.

One rule: a fault found is a result (exit 1); only a wrong word on the command line is an error (exit 2).
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
import msgspec
import uvloop
from rich.console import Console

from .catalog import named
from .limits import raise_descriptors
from .listing import WIDTH, table
from .program import upstream
from .runner import Result, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .scenario import Scenario

_INTERRUPTED: Final = 130
"""What a shell gives for a command that Ctrl-C ended."""


@click.command(epilog="Exit status: 0 nothing was harmed, 1 a fault, 2 wrong usage.")
@click.option(
    "--only", "names", multiple=True, metavar="NAME", help="This scenario; may be repeated."
)
@click.option(
    "--seconds",
    type=click.FloatRange(2, 3600),
    help="For each scenario, instead of what each has by itself.",
)
@click.option("--seed", default=1, show_default=True, help="Of what is left to chance.")
@click.option("--list", "listed", is_flag=True, help="Name the scenarios and end.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write all figures there too.")
def main(
    names: tuple[str, ...], seconds: float | None, seed: int, out: Path | None, *, listed: bool
) -> None:
    """Put load and faults on the whole program, and see whether anything was harmed by them."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        scenarios = named(names)
    except ValueError as error:
        console.print(f"soak: {error}")
        sys.exit(2)
    if listed:
        for each in scenarios:
            click.echo(f"{each.name:16}{each.seconds:4.0f} s  {each.what}")
        return
    raise_descriptors()
    try:
        results = uvloop.run(_until_signalled(scenarios, seconds, seed, console))
    except asyncio.CancelledError:
        console.print("soak: interrupted; everything that it started is ended")
        sys.exit(_INTERRUPTED)
    if out is not None:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    show(results)
    sys.exit(1 if any(each.faults for each in results) else 0)


async def _until_signalled(
    scenarios: Sequence[Scenario], seconds: float | None, seed: int, console: Console
) -> list[Result]:
    """All of them in turn. A signal ends the running one in good order; raises CancelledError then."""
    work = asyncio.ensure_future(_all(scenarios, seconds, seed, console))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    return await work


async def _all(
    scenarios: Sequence[Scenario], seconds: float | None, seed: int, console: Console
) -> list[Result]:
    results = []
    with TemporaryDirectory(prefix="soak-") as folder, upstream(Path(folder)) as port:
        for each in scenarios:
            console.print(f"  {each.name}: {each.what} ...")
            result = await run(each, port, seconds or each.seconds, seed)
            for fault in result.faults:
                console.print(f"    {fault}")
            results.append(result)
    return results


def show(results: Sequence[Result]) -> None:
    """The table and the faults on stdout."""
    out = Console(highlight=False, markup=False, soft_wrap=True)
    if not out.is_terminal:
        out.width = WIDTH
    out.print(table(results))
    for each in results:
        for fault in each.faults:
            out.print(f"{each.name}: {fault}")


if __name__ == "__main__":
    main()
