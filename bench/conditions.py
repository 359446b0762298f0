"""Where a run happens, as far as it bears on the figures."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .result import Conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .contestants import Contestant
    from .rounds import Plan


def conditions(
    plan: Plan, missing: Sequence[Contestant], load_core: int | None, *, quick: bool
) -> Conditions:
    """Read before the first contestant is started."""
    return Conditions(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        cores=len(os.sched_getaffinity(0)),
        processor=_processor(),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        load_average=round(os.getloadavg()[0], 2),
        load_core=load_core,
        effort="quick" if quick else "full",
        rounds=plan.rounds,
        seed=plan.seed,
        versions={each.name: _version(each) for each in plan.contestants if each.version},
        missing={each.name: each.install for each in missing},
    )


def _version(contestant: Contestant) -> str:
    """The first line that it says of itself; some say it on stderr."""
    try:
        done = subprocess.run(
            contestant.version,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{contestant.name}: {error}"
    return done.stdout.decode("utf-8", "replace").strip().partition("\n")[0]


def _processor() -> str:
    try:
        told = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.machine()
    lines = (line.partition(":") for line in told.splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == "model name"), "")
