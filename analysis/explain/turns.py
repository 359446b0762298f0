"""Which exchanges are turns, which are not, and which turn stands for them all.

One rule: a summary is a real exchange. The median turn is the one in the middle by duration, so that
its parts belong together and it can be looked up by its id; parts that each were a median would add
up to a turn that nobody lived through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.store.recorded import Record

Standing = Literal["turn", "hidden", "not_generation", "cut", "error"]
"""`turn`: an answer that somebody waited for, whole. `hidden`: one that the client asked for by itself
(titles, tags). `cut`: an answer that ended early. `error`: none came."""


def standing(record: Record) -> Standing:
    """What an exchange counts as. What failed counts as that, whoever had asked.

    An answer that was whole before its caller left did not fail: the record says no error there.
    """
    if record.error_kind is None:
        return record.kind
    begun = record.timings.first_token_ns is not None or record.generation == "incomplete"
    return "cut" if begun or record.error_kind == "client_disconnect" else "error"


def median_turn(turns: Sequence[Record]) -> Record | None:
    """The turn in the middle by duration, the shorter of two; None if there are none.

    Start and id settle ties, so the same journal always gives the same turn.
    """
    if not turns:
        return None
    ordered = sorted(turns, key=lambda t: (t.timings.end_ns, t.at_unix_ns, t.id))
    return ordered[(len(ordered) - 1) // 2]
