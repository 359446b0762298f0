"""A journal that cannot be written for a while, and a wall clock that jumps."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from soak.program import Setup, eventually
from soak.scenario import Scenario
from soak.stage import SkippedError
from soak.wish import Wish, chat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from soak.stage import Outcome, Stage

_SMALL_BYTES: Final = 12_000_000
"""Room for all that the scenario writes (some 8 kB an exchange, each tool set being a page), so that it is
full while it is filled and not when the program ends: then nobody could name what was lost."""
_FAKETIME: Final = "/usr/lib/*/faketime/libfaketimeMT.so.1"
_DAY_S: Final = 86_400


def _root() -> bool:
    return os.geteuid() == 0


def _command(*words: str) -> bool:
    done = subprocess.run(words, capture_output=True, check=False)
    return done.returncode == 0


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    """A tmpfs of 12 MB for the journal, if one may mount."""
    journal = folder / "journal"
    journal.mkdir()
    size = f"size={_SMALL_BYTES}"
    mounted = _root() and _command("mount", "-t", "tmpfs", "-o", size, "none", str(journal))
    try:
        yield
    finally:
        if mounted:
            _keep_files(journal)


def _keep_files(journal: Path) -> None:
    """The journal is read when the program has ended: so what the tmpfs holds is moved to the disk."""
    kept = journal.with_name("kept")
    _command("cp", "-r", str(journal), str(kept))
    _command("umount", str(journal))
    for file in kept.iterdir():
        file.rename(journal / file.name)


async def _full(stage: Stage, seconds: float) -> None:
    await _load(stage, seconds * 0.2)
    with _filled(stage):
        await _load(stage, seconds * 0.5)
        await _said(stage, "cannot write records")
    await _load(stage, seconds * 0.3)
    await _said(stage, "writing again")


@contextlib.contextmanager
def _filled(stage: Stage) -> Iterator[None]:
    journal = stage.program.journal
    if journal.is_mount():
        with (journal / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while filler.write(bytes(4096)) == 4096:
                pass
        yield
        (journal / "filler").unlink()
        return
    recorder = stage.program.recorder
    limits = resource.prlimit(recorder, resource.RLIMIT_FSIZE)
    resource.prlimit(recorder, resource.RLIMIT_FSIZE, (4096, limits[1]))
    yield
    resource.prlimit(recorder, resource.RLIMIT_FSIZE, limits)


async def _load(stage: Stage, seconds: float) -> None:
    """Each request has a tool of its own, so each record needs a new file beside its line."""

    async def one() -> None:
        body = chat("What now?", tool=f"tool_{stage.chance.getrandbits(64)}")
        async with stage.caller() as caller:
            await stage.send(caller, [stage.request(Wish(events=5, gap_ms=20), body)])

    await stage.repeat(seconds, 4, one)


async def _said(stage: Stage, words: str) -> None:
    def heard() -> bool:
        said = stage.program.events("journal.failed")
        return any(words in event["detail"] for event in said)

    await eventually(heard, f"the program did not say: {words}", 20)


async def _read_only(stage: Stage, seconds: float) -> None:
    await _load(stage, seconds * 0.2)
    with _sealed(stage.program.journal):
        await _load(stage, seconds * 0.5)
        await _said(stage, "cannot write records")
    await _load(stage, seconds * 0.3)
    await _said(stage, "writing again")


@contextlib.contextmanager
def _sealed(journal: Path) -> Iterator[None]:
    """Root may write whatever the mode says, so for root the folder is mounted read-only over itself."""
    if not _root():
        journal.chmod(0o500)
        yield
        journal.chmod(0o700)
        return
    if not _command("mount", "--bind", str(journal), str(journal)):
        raise SkippedError("this user is root and may not mount: no folder can be made read-only")
    try:
        _command("mount", "-o", "remount,bind,ro", str(journal))
        yield
    finally:
        _command("umount", str(journal))


def _lost_some(outcome: Outcome) -> None:
    lost = outcome.account.lost
    outcome.stage.expect(lost, "nothing was lost, so the journal was writable all the time")
    whys = {loss.why for loss in outcome.journal.losses}
    outcome.stage.notes.append("; ".join(sorted(whys)))


def _with_faketime(folder: Path) -> Setup:
    library = next(iter(sorted(Path("/").glob(_FAKETIME[1:]))), None)
    if library is None:
        raise SkippedError("no libfaketime here (Debian's package faketime)")
    (folder / "clock").write_text("+0", "utf-8")
    environment = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(folder / "clock"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    return Setup(environment=environment)


async def _clock_stepped(stage: Stage, seconds: float) -> None:
    """By a day on, a day back, and an hour back, under load."""
    clock = stage.program.journal.parent / "clock"
    for step_s in (0, _DAY_S, 0, -3600, -_DAY_S, 0):
        clock.write_text(f"{step_s:+d}", "utf-8")
        await _load(stage, seconds / 6)


def _durations_are_real(outcome: Outcome) -> None:
    """Of a stream that takes 100 ms no duration is below that or far above, whatever the wall clock did."""
    stage, records = outcome.stage, outcome.journal.records
    streams = [r.timings.end_ns for r in records if r.output.events]
    stage.expect(
        min(streams, default=0) >= 90_000_000, "a duration is too short: the clock touched it"
    )
    stage.expect(max(streams, default=0) < 60e9, "a duration is too long: the clock touched it")
    names = {path.name[:10] for path in stage.program.journal.glob("[0-9]*.jsonl")}
    stage.notes.append(f"segments of {len(names)} days")
    stage.expect(len(names) >= 3, f"segments of {sorted(names)}: three days were written")


DISK: Final = (
    Scenario(
        "disk-full",
        "no room in the journal for a while",
        _full,
        seconds=20,
        loses=True,
        around=_small_disk,
        check=_lost_some,
    ),
    Scenario(
        "read-only",
        "the journal cannot be written for a while",
        _read_only,
        seconds=20,
        loses=True,
        check=_lost_some,
    ),
    Scenario(
        "clock",
        "the wall clock jumps by days and hours",
        _clock_stepped,
        seconds=20,
        setup=_with_faketime,
        check=_durations_are_real,
    ),
)
