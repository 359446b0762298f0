"""What an exchange counts as.

One rule: what failed counts as that, whoever had asked for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from analysis.store.recorded import Record

Standing = Literal["turn", "hidden", "not_generation", "cut", "error"]
"""`turn`: an answer that somebody waited for, whole. `hidden`: one that the client asked for by itself
(titles, tags). `cut`: an answer that ended early. `error`: none came."""


def standing(record: Record) -> Standing:
    """What an exchange counts as.

    An answer that was whole before its caller left did not fail: the record says no error there.
    """
    if record.error_kind is None:
        return record.kind
    begun = record.timings.first_token_ns is not None or record.generation == "incomplete"
    return "cut" if begun or record.error_kind == "client_disconnect" else "error"
