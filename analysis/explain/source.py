"""How a figure came about: the word that stands beside it wherever it is printed.

One rule: a figure without a source is not printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Kind = Literal["measured", "reported", "counted", "estimated", "assumed"]
"""Seen by the proxy; said by the server; counted by a tokenizer; worked out from other figures; or
taken for granted."""


class Source(NamedTuple):
    """Where a figure comes from. A tuple: a report holds hundreds of thousands and compares them."""

    kind: Kind
    basis: str = ""
    """By what, from what: goes on where the kind ends. Empty when that says it all."""

    def __str__(self) -> str:
        """`estimated from TTFT of 3 exchanges`; `measured`."""
        return f"{self.kind} {self.basis}" if self.basis else self.kind


MEASURED: Final = Source("measured")
REPORTED: Final = Source("reported", "by the server")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A figure that was asked for and is not given, because it would mean nothing."""

    reason: str
    """Completes "not known: ..."."""
