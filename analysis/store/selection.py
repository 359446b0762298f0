"""Which exchanges are asked for: by time, route, client, model, conversation.

One rule: all that is said must hold. What is not said takes everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .recorded import Record


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of exchanges; None and False: whatever it is."""

    since_unix_ns: int | None = None
    """First request byte at or after this."""
    until_unix_ns: int | None = None
    """First request byte before this."""
    route: str | None = None
    """Listen address, label or upstream, to the letter."""
    label: str | None = None
    """The route's label, to the letter."""
    client: str | None = None
    """Stands somewhere in the client's name, capitals aside."""
    model: str | None = None
    """Stands somewhere in the name of the model that served, or was asked for if none is said to have."""
    thread: str | None = None
    """The conversation, to the letter."""
    turns_only: bool = False
    """Neither requests that the client made for itself nor what asks no model for output."""

    def takes(self, record: Record) -> bool:
        """Whether a record is asked for."""
        return (
            self.in_time(record.at_unix_ns)
            and self.route in (None, record.route, record.label, record.upstream)
            and self.label in (None, record.label)
            and _holds(record.client, self.client)
            and _holds(record.model_served or record.request.model, self.model)
            and self.thread in (None, record.thread)
            and (record.kind == "turn" or not self.turns_only)
        )

    def in_time(self, at_unix_ns: int) -> bool:
        """Whether what began at this moment may be asked for."""
        since, until = self.since_unix_ns, self.until_unix_ns
        return (since is None or at_unix_ns >= since) and (until is None or at_unix_ns < until)


EVERYTHING = Selection()


def _holds(name: str | None, piece: str | None) -> bool:
    return piece is None or (name is not None and piece.lower() in name.lower())
