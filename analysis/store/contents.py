"""From what stands in a journal's files to the journal: bytes in, values out.

One rule: whatever cannot be read is named with its file and its line, and harms nothing beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from .base import Gap, Journal, Unreadable
from .recorded import (
    GAUGE_VERSION,
    UNREADABLE,
    Damage,
    Forgotten,
    GaugeSample,
    Loss,
    Record,
    ToolSet,
    read_lines,
    run_began_unix_ns,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

T = TypeVar("T")

_NUMBER: Final = re.compile(r"[0-9]{1,18}")
"""What a number of an exchange looks like: 64 bits hold it."""

_loss: Final = msgspec.json.Decoder(Loss)
_tool_set: Final = msgspec.json.Decoder(ToolSet)
_gauge: Final = msgspec.json.Decoder(GaugeSample)
_forgotten: Final = msgspec.json.Decoder(Forgotten)


@dataclass(slots=True)
class Contents:
    """What has been read of a journal so far; files may come in any order."""

    _records: dict[str, Record] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    tool_sets: dict[str, ToolSet] = field(default_factory=dict)
    damages: list[Unreadable] = field(default_factory=list)
    gauges: list[GaugeSample] = field(default_factory=list)
    forgotten_before_ns: int = 0
    """Records that began before this may have been removed on purpose."""

    def segment(self, file: str, data: Iterable[bytes]) -> None:
        """Take the pieces of a segment. A record that is there twice counts once."""
        for read in read_lines(data):
            if isinstance(read, Damage):
                self.unreadable(file, read.line, read.reason)
            elif read.id in self._records:
                self.unreadable(file, None, f"a second record of exchange {read.id}: left out")
            else:
                self._records[read.id] = read

    def loss(self, file: str, data: bytes) -> None:
        """Take a file of loss lines."""
        self.losses += (loss for _, loss in self._decoded(file, data, _loss))

    def forgotten(self, file: str, data: bytes) -> None:
        """Take the file that says what was removed on purpose."""
        for _, line in self._decoded(file, data, _forgotten):
            self.forgotten_before_ns = max(self.forgotten_before_ns, line.before_unix_ns)

    def gauge(self, file: str, data: bytes) -> None:
        """Take a file of gauge samples."""
        for number, sample in self._decoded(file, data, _gauge):
            if sample.v == GAUGE_VERSION:
                self.gauges.append(sample)
            else:
                self.unreadable(file, number, f"version {sample.v} is not known here")

    def tool_set(self, file: str, data: bytes) -> None:
        """Take a file that names the tools of a set."""
        try:
            read = _tool_set.decode(data)
        except UNREADABLE as fault:
            self.unreadable(file, None, str(fault))
        else:
            self.tool_sets[read.set_hash] = read

    def _decoded(
        self, file: str, data: bytes, decoder: msgspec.json.Decoder[T]
    ) -> Iterator[tuple[int, T]]:
        """Lines with their numbers; a blank one is nothing."""
        for number, line in enumerate(data.split(b"\n"), start=1):
            if line.strip():
                try:
                    yield number, decoder.decode(line)
                except UNREADABLE as fault:
                    self.unreadable(file, number, str(fault))

    def unreadable(self, file: str, line: int | None, reason: str) -> None:
        """Take note of something that could not be read."""
        self.damages.append(Unreadable(file, line, reason))

    def journal(self) -> Journal:
        """All of it, in order."""
        lost = {i for loss in self.losses for i in loss.ids}
        return Journal(
            records=in_order(self._records.values()),
            tool_sets=dict(self.tool_sets),
            losses=self.left(self._records),
            gaps=tuple(g for g in gaps(self._records.keys() | lost) if not self._was_forgotten(g)),
            unreadable=tuple(self.damages),
            gauges=self.samples(),
        )

    def samples(self) -> tuple[GaugeSample, ...]:
        """What servers said of themselves, in order of time."""
        return tuple(sorted(self.gauges, key=lambda sample: sample.at_unix_ns))

    def _was_forgotten(self, gap: Gap) -> bool:
        before = self._records.get(f"{gap.run}-{gap.first - 1}")
        return self.was_forgotten(gap, before.at_unix_ns if before else None)

    def was_forgotten(self, gap: Gap, before_unix_ns: int | None) -> bool:
        """True if what is missing may have begun before the latest removal on purpose.

        It began after the exchange in front of it (`before_unix_ns`), or after the run did. A loss that
        nobody noted and that is as old as what was removed cannot be told apart from it.
        """
        began_ns = run_began_unix_ns(gap.run) or 0 if before_unix_ns is None else before_unix_ns
        return began_ns < self.forgotten_before_ns

    def left(self, recorded: Container[str]) -> tuple[Loss, ...]:
        """Losses in order of time, less the exchanges that were recorded after all.

        A recorder that was restarted may have sealed an exchange that its forerunner held.
        """
        losses = sorted(self.losses, key=lambda loss: loss.at_unix_ns)
        each = ((loss, [i for i in loss.ids if i not in recorded]) for loss in losses)
        return tuple(msgspec.structs.replace(loss, ids=ids) for loss, ids in each if ids)


def gaps(ids: Iterable[str]) -> Iterator[Gap]:
    """Numbers that are missing between 1 and each run's last, as stretches.

    An id is `<run>-<number>`; one that is not cannot have a gap, and fills none: `<run>-<number>.<n>` is
    inside of a tunnel, which has a record of its own.
    """
    runs: dict[str, set[int]] = {}
    for name in ids:
        run, _, digits = name.rpartition("-")
        if run and _NUMBER.fullmatch(digits):
            runs.setdefault(run, set()).add(int(digits))
    for run, numbers in sorted(runs.items()):
        before = 0
        for number in sorted(numbers):
            if number > before + 1:
                yield Gap(run, before + 1, number - 1)
            before = number


def in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    """By their first bytes; ids settle ties."""
    return tuple(sorted(records, key=lambda record: (record.at_unix_ns, record.id)))
