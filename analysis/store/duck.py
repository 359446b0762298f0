"""A journal of any size: exact counts by SQL, and as many records as memory has room for.

One rule: the journal's own folder is the only thing that lasts. What is built here lives in memory, and
what is written to disk is the journal itself, compacted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from .base import MOST, Gap, Journal, Sampling
from .compaction import WORTHWHILE, compact
from .contents import in_order
from .engine import MovedError, ask, database, tell
from .folder import FolderStore
from .reading import Reading
from .recorded import Record, read_lines
from .selection import EVERYTHING
from .tallies import tallies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from .compaction import Progress
    from .recorded import Loss
    from .selection import Selection
    from .tallies import Tallies

T = TypeVar("T")

LOOKS: Final = 3
"""How often a folder is listed when files that were listed go before they are read."""

ALWAYS: Final = 10
"""Last exchanges that are in every sample, each with all of its turn."""


def _silent(_what: str, _done: int, _of: int) -> None:
    """Nobody looks."""


@dataclass(frozen=True, slots=True)
class DuckStore:
    """The folder that a proxy writes to, or a copy of it."""

    path: Path
    progress: Progress = _silent
    compact_from: int | None = WORTHWHILE
    """Closed segments are compacted when they are so many bytes or more; None: never."""

    def journal(self, selection: Selection = EVERYTHING, most: int = MOST) -> Journal:
        """See Store."""
        if self.compact_from is not None:
            compact(FolderStore(self.path), self.progress, self.compact_from)
        return self._read(lambda reading: _journal(reading, selection, most))

    def tallies(self, selection: Selection = EVERYTHING) -> Tallies:
        """Only what a journal counts. Raises as `journal`."""

        def counted(reading: Reading) -> Tallies:
            _select(reading.db, selection)
            return tallies(reading.db)

        return self._read(counted)

    def one(self, exchange: str) -> Record | None:
        """See Store."""
        return self._read(
            lambda reading: next(iter(_records(ask(reading.db, "one", id=exchange))), None)
        )

    def turn_of(self, exchange: str) -> tuple[Record, ...]:
        """See Store."""

        def turn(reading: Reading) -> tuple[Record, ...]:
            _select(reading.db, EVERYTHING)
            return in_order(_records(ask(reading.db, "turn_of", id=exchange)))

        return self._read(turn)

    def last(self, selection: Selection = EVERYTHING) -> str | None:
        """The turn that ended last, by its id; None if there is none. Raises as `journal`."""
        return self._named("last_turn", selection)

    def worst(self, selection: Selection = EVERYTHING) -> str | None:
        """The turn that took longest from its first byte to its last; None if there is none."""
        return self._named("worst_turn", selection)

    def _named(self, query: str, selection: Selection) -> str | None:
        def named(reading: Reading) -> str | None:
            _select(reading.db, selection)
            found = ask(reading.db, query)
            return str(found[0][0]) if found else None

        return self._read(named)

    def _read(self, look: Callable[[Reading], T]) -> T:
        """Open the folder and look into it; anew when files went meanwhile."""
        for left in reversed(range(LOOKS)):
            files = FolderStore(self.path).files()
            try:
                with database() as db:
                    reading = Reading(db, self.progress)
                    reading.open(files)
                    return look(reading)
            except MovedError:
                if not left:
                    raise
        raise AssertionError("unreachable")


def _select(db: DuckDBPyConnection, selection: Selection) -> None:
    tell(db, **asdict(selection))
    ask(db, "selected")


def _journal(reading: Reading, selection: Selection, most: int) -> Journal:
    _select(reading.db, selection)
    counted = tallies(reading.db)
    records, sampling = _taken(reading.db, counted, most)
    samples = reading.contents.samples()
    return Journal(
        records=in_order(records),
        tool_sets=dict(reading.contents.tool_sets),
        losses=_losses(reading, selection),
        gaps=tuple(_gaps(reading, selection)),
        unreadable=tuple(reading.contents.damages),
        gauges=tuple(s for s in samples if selection.in_time(s.at_unix_ns)),
        sampling=sampling,
        tallies=counted,
    )


def _taken(
    db: DuckDBPyConnection, counted: Tallies, most: int
) -> tuple[list[Record], Sampling | None]:
    """All, or whole turns by the hash of their names."""
    if counted.exchanges <= most:
        return list(_records(ask(db, "all_lines"))), None
    ask(db, "attached")
    ask(db, "chosen", most=most, last=ALWAYS)
    ask(db, "chosen_rows")
    records = list(_records(ask(db, "chosen_lines")))
    ((turns,),) = ask(db, "chosen_turns")
    return records, Sampling(len(records), counted.exchanges, turns, counted.turns)


def _records(lines: Iterable[tuple[bytes]]) -> Iterator[Record]:
    ended = (line + b"\n" for (line,) in lines)
    return (read for read in read_lines(ended) if isinstance(read, Record))


def _losses(reading: Reading, selection: Selection) -> tuple[Loss, ...]:
    recorded = {name for (name,) in ask(reading.db, "found_ids")}
    left = reading.contents.left(recorded)
    return tuple(loss for loss in left if selection.in_time(loss.at_unix_ns))


def _gaps(reading: Reading, selection: Selection) -> Iterator[Gap]:
    """What is missing began between the exchanges beside it, where these are known."""
    since, until = selection.since_unix_ns, selection.until_unix_ns
    for run, first, last, before_ns, behind_ns in ask(reading.db, "gaps"):
        gap = Gap(run, first, last)
        late = until is not None and before_ns is not None and before_ns >= until
        early = since is not None and behind_ns is not None and behind_ns < since
        if not (late or early or reading.contents.was_forgotten(gap, before_ns)):
            yield gap
