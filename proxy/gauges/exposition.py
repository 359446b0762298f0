"""What a server's `/metrics` says, in our figures: bytes in, an `Exposition` out.

One rule: it never raises, and a figure is whole or missing. If one of its series cannot be read, or is no
number that a count can be, the sum over the others would be a lie: then the figure is not there at all.
The lines are read by prometheus-client's own parser, one by one, so that a bad one costs no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .names import ENGINES, LINE, REPLICAS, STARTED, TOTAL_LABEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client.samples import Sample

    from proxy.journal.gauge import Engine

    from .names import Row

    Labels = tuple[tuple[str, str], ...]
    Parse = Callable[[str], Iterable[Sample]]

LONGEST_LINE: Final = 1024
"""Characters. Labels are a model's name and a few numbers."""
MOST_LINES: Final = 1024
"""Lines of metrics that we know: 64 engines with 16 figures each."""
LARGEST: Final = 2**53
"""Beyond it a float, which is what a metric is, counts no more by ones."""


@dataclass(frozen=True, slots=True)
class Exposition:
    """One answer, read."""

    engine: Engine
    figures: Mapping[str, int | float]
    """By their names in `GaugeSample`; what the server does not say is not in it."""
    counters: Mapping[tuple[str, Labels], int | float]
    """Each series of each counter: one that starts anew can hide in a sum."""
    started: int | float | None = None
    """The server's start by its own clock; None: it does not say."""


@dataclass(slots=True)
class _Metric:
    """All series of one name."""

    series: dict[Labels, int | float] = field(default_factory=dict)
    whole: bool = True


def read(body: bytes) -> Exposition | None:
    """What it says; None if it has no metric of an engine that is known."""
    metrics = _metrics(body.decode("utf-8", "replace"))
    found: list[tuple[int, Engine, dict[str, int | float]]] = []
    for engine, rows in ENGINES.items():
        figures = {
            row.figure: value for row in rows if (value := _figure(metrics, row)) is not None
        }
        found.append((len(figures), engine, figures))
    count, engine, figures = max(found, key=lambda each: each[0])
    if not count:
        return None
    started = metrics.get(STARTED)
    alone = list(started.series.values()) if started is not None and started.whole else []
    return Exposition(
        engine, figures, _counters(metrics, ENGINES[engine]), alone[0] if len(alone) == 1 else None
    )


def _metrics(text: str) -> dict[str, _Metric]:
    # Importing it costs 0.2 s and registers collectors: only who reads an answer pays for that.
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415  as above

    def parse(line: str) -> Iterable[Sample]:
        return [s for family in text_string_to_metric_families(line) for s in family.samples]

    metrics: dict[str, _Metric] = {}
    for number, line in enumerate(LINE.finditer(text)):
        metric = metrics.setdefault(line[1], _Metric())
        if number >= MOST_LINES or len(line[0]) > LONGEST_LINE or not _add(metric, line[0], parse):
            metric.whole = False
    return metrics


def _add(metric: _Metric, line: str, parse: Parse) -> bool:
    """Put the series of a line to the others; False if there is none that can be used."""
    try:
        (sample,) = parse(line)
    except Exception:  # noqa: BLE001  the parser does not say what others' text may make it raise
        return False
    if not 0 <= sample.value <= LARGEST:  # not a number neither
        return False
    metric.series[tuple(sorted(sample.labels.items()))] = sample.value
    return True


def _figure(metrics: Mapping[str, _Metric], row: Row) -> int | float | None:
    for alternative in row.names:
        terms = [metrics.get(name) for name in alternative]
        there = [term for term in terms if term is not None]
        if len(there) == len(terms):
            if not all(term.whole for term in there):
                return None
            total = sum(_over_series(term.series, row) for term in there)
            return total if row.over == "max" else int(total)
    return None


def _over_series(series: Mapping[Labels, int | float], row: Row) -> int | float:
    counted = _without_parts(series)
    if row.over == "max":
        return max(counted.values())
    engines: dict[Labels, int | float] = {}
    for labels, value in counted.items():
        engine = tuple(label for label in labels if label[0] not in REPLICAS)
        engines[engine] = max(value, engines.get(engine, 0))
    return sum(engines.values())


def _without_parts(series: Mapping[Labels, int | float]) -> Mapping[Labels, int | float]:
    """The sums alone, where the server gives both sums and their parts."""
    sums = {labels: value for labels, value in series.items() if (TOTAL_LABEL, "") in labels}
    return sums or series


def _counters(
    metrics: Mapping[str, _Metric], rows: tuple[Row, ...]
) -> dict[tuple[str, Labels], int | float]:
    names = {
        name
        for row in rows
        if row.kind == "counter"
        for alternative in row.names
        for name in alternative
    }
    return {
        (name, labels): value
        for name in sorted(names & metrics.keys())
        for labels, value in metrics[name].series.items()
    }
