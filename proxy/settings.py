"""What the relay's process tells its recorder, on the command line of that process.

One rule: only what the recorder needs, and nothing that may not be seen in a list of processes.
"""

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .config import Route


class Gauged(msgspec.Struct, frozen=True, kw_only=True):
    """A server whose own metrics are sampled."""

    upstream: str
    """Scheme and authority, as in an exchange's opening."""
    interval_s: float
    """Between two questions while exchanges run; the longest that an answer may take."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the recorder."""

    journal: str
    """The folder for records."""
    keep_days: int | None = None
    """Days of records that are kept; None: all."""
    max_bytes: int | None = None
    """Bytes of the journal that are kept; None: all."""
    nice: int
    """How far the recorder stands back for others."""
    retain_bytes: int
    """What is kept of one exchange for reading."""
    quiet: bool
    """True: no line for each exchange."""
    form: Literal["auto", "text", "json"]
    """How lines are written."""
    asking: Literal["private", "any", "off"] = "private"
    """Which upstreams' own tokenizers may be asked."""
    tokenizer_file: str | None = None
    """A tokenizer.json that counts where no server does; None: tiktoken does."""
    metrics: bool = False
    """True: it counts its records for Prometheus."""
    gauges: tuple[Gauged, ...] = ()
    """Servers to sample, each once."""


def gauged(routes: "Iterable[Route]") -> tuple[Gauged, ...]:
    """The servers that routes want sampled: one that several lead to is asked as often as one wants it."""
    found: dict[str, float] = {}
    for route in routes:
        if route.gauge:
            upstream = str(route.upstream)
            found[upstream] = min(route.gauge_interval_s, found.get(upstream, 3600.0))
    return tuple(Gauged(upstream=name, interval_s=step) for name, step in found.items())
