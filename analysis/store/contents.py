"""From what stands in a journal's files to the journal: bytes in, values out.

One rule: whatever cannot be read is named with its file and its line, and harms nothing beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from .base import Gap, Journal, Unreadable
from .recorded import Damage, Loss, Record, ToolSet, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NUMBER: Final = re.compile(r"[0-9]{1,18}")
"""What a number of an exchange looks like: 64 bits hold it."""

_loss: Final = msgspec.json.Decoder(Loss)
_tool_set: Final = msgspec.json.Decoder(ToolSet)


@dataclass(slots=True)
class Contents:
    """What has been read of a journal so far; files may come in any order."""

    _records: dict[str, Record] = field(default_factory=dict)
    _losses: list[Loss] = field(default_factory=list)
    _tool_sets: dict[str, ToolSet] = field(default_factory=dict)
    _unreadable: list[Unreadable] = field(default_factory=list)

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
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                self._losses.append(_loss.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as fault:
                self.unreadable(file, number, str(fault))

    def tool_set(self, file: str, data: bytes) -> None:
        """Take a file that names the tools of a set."""
        try:
            read = _tool_set.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            self.unreadable(file, None, str(fault))
        else:
            self._tool_sets[read.set_hash] = read

    def unreadable(self, file: str, line: int | None, reason: str) -> None:
        """Take note of something that could not be read."""
        self._unreadable.append(Unreadable(file, line, reason))

    def journal(self) -> Journal:
        """All of it, in order."""
        lost = {i for loss in self._losses for i in loss.ids}
        return Journal(
            records=tuple(sorted(self._records.values(), key=_by_start)),
            tool_sets=dict(self._tool_sets),
            losses=tuple(self._without_record(sorted(self._losses, key=lambda x: x.at_unix_ns))),
            gaps=tuple(gaps(self._records.keys() | lost)),
            unreadable=tuple(self._unreadable),
        )

    def _without_record(self, losses: Iterable[Loss]) -> Iterator[Loss]:
        """Losses, less the exchanges that were recorded after all.

        A recorder that was restarted may have sealed an exchange that its forerunner held.
        """
        for loss in losses:
            ids = [i for i in loss.ids if i not in self._records]
            if ids:
                yield msgspec.structs.replace(loss, ids=ids)


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


def _by_start(record: Record) -> tuple[int, str]:
    return record.at_unix_ns, record.id
