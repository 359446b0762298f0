"""`turnscope tail`: the journal's last exchanges, and each new one as it ends.

One rule: it only reads, and it waits for what is not there yet: a folder, a segment, a line's end.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from .store.base import NoJournalError
from .store.follow import Follower, ended_unix_ns
from .store.recorded import Record, encode, line
from .store.selection import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store.folder import FolderStore
    from .store.selection import Selection

LOOK_EVERY_S: Final = 0.25
"""Short beside the wait for an answer; a look costs a listing and a `stat` a segment."""


def follow(
    store: FolderStore,
    n: int,
    say: Callable[[Record], None],
    complain: Callable[[str], None],
    selection: Selection = EVERYTHING,
) -> None:
    """Say the last `n` of those asked for and then each new one; never returns. Raises StoreError."""
    follower = Follower(store, selection)
    for record in _first(follower, n, complain):
        say(record)
    while True:
        time.sleep(LOOK_EVERY_S)
        try:
            news = follower.news()
        except NoJournalError:
            continue
        for piece in news:
            if isinstance(piece.read, Record):
                say(piece.read)
            else:
                complain(f"{piece.file}: a line cannot be read: {piece.read.reason}")


def _first(follower: Follower, n: int, complain: Callable[[str], None]) -> list[Record]:
    try:
        found = follower.last(n)
    except NoJournalError as missing:
        complain(f"{missing}; waiting for a proxy that writes there")
        return []
    if not found and n:
        complain(f"nothing in {follower.store.path} yet; waiting")
    return found


def as_text(record: Record) -> str:
    """The proxy's own line for an exchange, its end on this machine's clock."""
    ended = datetime.fromtimestamp(ended_unix_ns(record) / 1e9, UTC).astimezone()
    return f"{line(record, ended)}\n"


def as_json(record: Record) -> str:
    """The record as it stands in the journal, brought to the present version."""
    return encode(record).decode()
