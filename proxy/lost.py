"""Exchanges that will have no record, until a recorder has written down which and why.

One rule: each is counted for ever and named once. Naming is bounded: what is beyond shows as a gap in the
numbers, which nobody can take for silence either.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from .wire.frame import ACK, LostBy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MOST_NAMED: Final = 100_000
"""Numbers that wait to be named, some 10 MB."""


class Lost:
    """What one relay process has to tell about exchanges without a record."""

    def __init__(self) -> None:
        self._untold: dict[LostBy, set[int]] = {why: set() for why in LostBy}
        self._told: deque[tuple[LostBy, list[int]]] = deque()
        """Sent to the recorder, oldest first, and not yet known to be written."""
        self.in_all = 0

    def add(self, why: LostBy, numbers: Collection[int]) -> None:
        """These have no record."""
        self.in_all += len(numbers)
        self._untold[why].update(islice(numbers, max(0, MOST_NAMED - len(self.numbers))))

    def tell(self) -> Iterator[tuple[LostBy, bytes]]:
        """What has not been told, as the payloads of `Kind.LOST`; from now on it counts as told."""
        for why, numbers in self._untold.items():
            if numbers:
                self._told.append((why, sorted(numbers)))
                yield why, b"".join(map(ACK.pack, self._told[-1][1]))
                numbers.clear()

    def written(self) -> None:
        """The recorder has written the oldest list of those that it was told."""
        if self._told:
            self._told.popleft()

    def recorder_died(self) -> None:
        """Whatever it was told and did not acknowledge has to be told again."""
        for why, numbers in self._told:
            self._untold[why].update(numbers)
        self._told.clear()

    @property
    def numbers(self) -> set[int]:
        """All that is not yet known to be written."""
        told = (numbers for _why, numbers in self._told)
        return set().union(*self._untold.values(), *told)

    @property
    def all_told(self) -> bool:
        """True when the recorder has been told of each."""
        return not any(self._untold.values())

    @property
    def named(self) -> bool:
        """True when nothing is left to be written."""
        return self.all_told and not self._told
