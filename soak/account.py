"""Whether the journal adds up: records and counted losses are the exchanges, no more and no less.

One rule: it is read as `turnscope report` reads it. Exchanges are numbered from 1 in each run of a relay
process, so what has neither a record nor a loss line is a number that is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.store.folder import FolderStore

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.store.base import Journal


@dataclass(frozen=True, slots=True)
class Account:
    """What a journal holds."""

    records: int
    lost: int
    """Exchanges that a loss line names."""
    missing: int
    """Numbers below the last one of their run that have neither."""
    unreadable: int
    """Lines that cannot be read."""
    wrong: tuple[str, ...]
    """What must not be there: two records of one exchange."""

    @property
    def known(self) -> int:
        """Exchanges that are accounted for."""
        return self.records + self.lost


def account(folder: Path) -> tuple[Account, Journal]:
    """Read a journal."""
    journal = FolderStore(folder).journal()
    doubled = [x.reason for x in journal.unreadable if x.line is None]
    lost = {one for loss in journal.losses for one in loss.ids}
    known = Account(
        records=len(journal.records),
        lost=len(lost),
        missing=sum(gap.count for gap in journal.gaps),
        unreadable=len(journal.unreadable) - len(doubled),
        wrong=tuple(doubled),
    )
    return known, journal
