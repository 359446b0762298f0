"""How fast a journal is compacted, and how fast and in how much memory it is then reported on.

`python -m bench.analysis_store [RECORDS]`: a journal of so many records (a million unless said) and one of
20,000 that is not compacted, in a folder of its own that is removed at the end.

One rule: what is timed is the command as a person runs it, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from .journal import write

PYTHON: Final = sys.executable
OPEN: Final = 20_000
COMPACT: Final = (
    "import sys; from pathlib import Path; from analysis.store.compaction import compact;"
    "from analysis.store.folder import FolderStore;"
    "print(len(compact(FolderStore(Path(sys.argv[1])), lambda *_: None, 0)), 'segments')"
)
READ: Final = (
    "import sys; from pathlib import Path; from analysis.store.duck import DuckStore;"
    "print(len(DuckStore(Path(sys.argv[1]), compact_from=None).journal().records), 'records')"
)
REPORT: Final = ("-m", "analysis", "report", "--no-compact", "--journal")


def main(wanted: int) -> None:
    """Print the figures."""
    with TemporaryDirectory(prefix="turnscope-bench-") as name:
        big, small = Path(name) / "big", Path(name) / "small"
        size = write(big, wanted)
        write(small, OPEN)
        _age(big)
        took = _timed(f"compact {wanted:,} records, {size / 1e9:.2f} GB", "-c", COMPACT, str(big))
        packed = sum(file.stat().st_size for file in big.glob("*.parquet"))
        print(f"  {wanted / took:,.0f} records/s, {packed / 1e6:,.0f} MB left")  # noqa: T201 -- the result
        _timed("store: counts and sample", "-c", READ, str(big))
        _timed("report", *REPORT, str(big))
        _timed(f"store: {OPEN:,} records, not compacted", "-c", READ, str(small))
        _timed(f"report on {OPEN:,} records, not compacted", *REPORT, str(small))
        _timed("turnscope --help", "-m", "analysis", "--help")


def _age(folder: Path) -> None:
    """As if nobody had written there for a while."""
    for file in folder.iterdir():
        then = file.stat().st_mtime - 60
        os.utime(file, (then, then))


def _timed(what: str, *arguments: str) -> float:
    began = time.perf_counter()
    running = subprocess.Popen([PYTHON, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    took = time.perf_counter() - began
    running.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime
    print(  # noqa: T201 -- the result
        f"{what}: {took:.2f} s, {cpu:.2f} s of CPU, {used.ru_maxrss / 1e3:,.0f} MB at most,"
        f" status {running.returncode}",
        flush=True,
    )
    return took


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)
