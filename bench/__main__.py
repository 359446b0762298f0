"""`python -m bench`, which `make bench` runs: rounds of all contestants, the table, the JSON.

One rule: a difference of bytes or a contestant that fails is exit 1, a wrong word on the command line is
exit 2, and Ctrl-C leaves nothing running.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click
import msgspec
import uvloop
from rich.console import Console

from demo.child import ROOT, ChildError

from . import contestants, metrics, report
from .clock import monotonic_ns
from .conditions import conditions
from .field import Cores, Field
from .result import Measurement, Result, write
from .rounds import Plan, run
from .verdict import problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .result import Conditions

RESULTS: Final = ROOT / "bench" / "results"
SCRATCH: Final = ROOT / ".cache"
Named = TypeVar("Named")
_WIDTH: Final = 200
"""Of the table where there is no terminal to ask."""


def _some(known: Mapping[str, Named], names: str | None, what: str) -> list[Named]:
    """Those named, in their own order; all without a name."""
    wanted = known.keys() if names is None else {name.strip() for name in names.split(",")}
    if unknown := sorted(wanted - known.keys()):
        raise click.UsageError(f"there is no {what} {unknown[0]}; there are {', '.join(known)}")
    return [each for name, each in known.items() if name in wanted]


@click.command(epilog="Exit status: 0 all well, 1 bytes differ or one failed, 2 wrong usage.")
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1, 100))
@click.option("--only", metavar="METRICS", help=f"Of {', '.join(metrics.ALL)}; with commas.")
@click.option(
    "--contestants", "names", metavar="NAMES", help=f"Of {', '.join(contestants.ALL)}; with commas."
)
@click.option("--quick", is_flag=True, help="A tenth of the load, one round: does it all work?")
@click.option("--seed", type=int, help="Of the order in each round.  [default: drawn, and printed]")
@click.option(
    "--json",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the result goes.  [default: bench/results/TIME.json]",
)
@click.option(
    "--from",
    "earlier",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Measure nothing; show this result.",
)
@click.option(
    "--publish",
    metavar="PAGE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Write the figures into this page, between its two marks.",
)
@click.pass_context
def main(context: click.Context, /, **given: object) -> None:
    """Measure what turnscope adds, beside other proxies and in front of the same scripted upstream."""
    options = msgspec.convert(given, Options)
    try:
        result = _earlier(options.earlier) if options.earlier else _measured(context, options)
        if options.publish is not None:
            page = options.publish.read_text("utf-8")
            options.publish.write_text(report.published(page, result), "utf-8")
    except ValueError as error:  # msgspec's are, too
        raise click.UsageError(str(error)) from error
    except ChildError as error:
        click.echo(f"bench: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("bench: stopped; nothing is left running", err=True)
        sys.exit(130)
    report.show(
        result,
        Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False, markup=False),
    )
    for problem in (found := problems(result)):
        click.echo(f"bench: {problem}", err=True)
    sys.exit(1 if found else 0)


class Options(msgspec.Struct):
    """The command line."""

    rounds: int
    only: str | None
    names: str | None
    quick: bool
    seed: int | None
    path: Path | None
    earlier: Path | None
    publish: Path | None


def _earlier(path: Path) -> Result:
    return msgspec.json.decode(path.read_bytes(), type=Result)


def _measured(context: click.Context, options: Options) -> Result:
    chosen = _some(contestants.ALL, options.names, "contestant")
    default = context.get_parameter_source("rounds") is click.core.ParameterSource.DEFAULT
    plan = Plan(
        [each for each in chosen if each.installed],
        _some(metrics.ALL, options.only, "metric"),
        1 if options.quick and default else options.rounds,
        random.randrange(10**6) if options.seed is None else options.seed,  # noqa: S311  an order
        metrics.QUICK if options.quick else metrics.FULL,
    )
    missing = [each for each in chosen if not each.installed]
    cores = Cores()
    told = conditions(plan, missing, cores.load, quick=options.quick)
    for each in missing:
        click.echo(f"{each.name} is not installed: {each.install}", err=True)
    click.echo(f"seed {plan.seed}", err=True)
    path = options.path or RESULTS / f"{told.started_at.replace(':', '')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return uvloop.run(_run(plan, cores, told, path))


async def _run(plan: Plan, cores: Cores, told: Conditions, path: Path) -> Result:
    """Run the plan. The result is written after each measurement, so that a stop loses nothing."""
    _allow_descriptors()
    begun_ns = monotonic_ns()
    measurements: list[Measurement] = []
    result = Result(conditions=told, took_s=0.0, measurements=measurements)
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"bench-{os.getpid()}-", dir=SCRATCH) as folder:
        field = Field(Path(folder), cores)
        with field.upstream():
            cores.pin()
            async for measurement in run(plan, field, lambda line: click.echo(line, err=True)):
                measurements.append(measurement)
                took_s = (monotonic_ns() - begun_ns) / 1e9
                result = msgspec.structs.replace(result, took_s=round(took_s, 1))
                write(result, path)
    click.echo(f"written: {path}", err=True)
    return result


def _allow_descriptors() -> None:
    """A thousand streams need two thousand; what is started inherits it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
