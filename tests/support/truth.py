"""Journals whose costs are known, because they were made with them: what a fit must find again.

One rule: a seed is a journal. Times are drawn from costs, noise and load; no code of the product is
asked for any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from proxy.journal.record import Load, Output, Record, Timings, UsageReport
from tests.support.builders import MS, record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PLAIN: Final = msgspec.structs.replace(record(), parts=[], tools=None)
U0: Final = 2 * MS


@dataclass(frozen=True)
class Costs:
    """What an engine takes, in ns."""

    base: float = 300 * MS
    """An empty prompt: network, first step, and the median of the queue where all wait in one."""
    token: float = 0.5 * MS
    """Each uncached prompt token."""
    bend: float = 0.0
    """Times the square of the tokens."""
    step: float = 12 * MS
    """A generated token without context."""
    carried: float = 1_500.0
    """What each token of context adds to that."""

    def wait(self, tokens: Floats) -> Floats:
        """From the request to the first token, without noise."""
        return self.base + self.token * tokens + self.bend * tokens**2


@dataclass(frozen=True)
class Made:
    """A journal and the truth that it was made with, by the name of the engine's model."""

    records: list[Record]
    truth: Mapping[str, Costs]


@dataclass
class Drawn:
    """Exchanges of one engine in the making, a value an exchange."""

    prompt: Floats
    """Tokens of the whole prompt."""
    ttft: Floats
    cached: Floats | None = None
    prefill: Floats | None = None
    """As llama.cpp would report it."""
    peak: Floats | None = None
    """In flight; None: always alone."""
    model: str = "one"
    answered: Floats | None = None
    decode: Floats | None = None
    hidden: frozenset[int] = field(default_factory=frozenset)
    """Places of those that the client asked for itself."""

    def records(self) -> list[Record]:
        """As a proxy would have written them down."""
        return [self._record(place) for place in range(len(self.prompt))]

    def _record(self, n: int) -> Record:
        first = U0 + round(float(self.ttft[n]))
        answered = 64 if self.answered is None else int(self.answered[n])
        last = first + (800 * MS if self.decode is None else round(float(self.decode[n])))
        prompt = int(self.prompt[n])
        cached = 0 if self.cached is None else int(self.cached[n])
        busy = 1 if self.peak is None else int(self.peak[n])
        reported: dict[str, float | int | str | None] = {}
        if self.prefill is not None:
            reported = {"prompt_ms": float(self.prefill[n]) / MS, "prompt_n": prompt - cached}
        return msgspec.structs.replace(
            PLAIN,
            id=f"r1-{n + 1}",
            kind="hidden" if n in self.hidden else "turn",
            model_served=self.model,
            timings=Timings(
                request_end_ns=U0, first_token_ns=first, last_token_ns=last, end_ns=last
            ),
            output=Output(tokens=answered, source="usage", events=answered),
            usage=UsageReport(input=prompt, output=answered, cached=cached),
            load=Load(in_flight_at_arrival=busy, in_flight_mean=float(busy), in_flight_peak=busy),
            reported=reported,
        )


def alike(rng: Generator, n: int, spread: float) -> Floats:
    """Factors around 1: as often above as below, and never far."""
    return np.exp(spread * rng.standard_normal(n))


def heavy(rng: Generator, n: int) -> Floats:
    """Factors of which some are far off, and one in twenty is a stall of three times the time."""
    factors = np.exp(0.05 * rng.standard_t(2, n))
    return np.where(rng.random(n) < 0.05, 3.0, 1.0) * factors


def plain(rng: Generator) -> Made:
    """Prompts of 0.5k to 20k tokens, one at a time; times scatter by 10 %."""
    costs = Costs()
    prompt = np.round(rng.uniform(500, 20_000, 30))
    drawn = Drawn(prompt, costs.wait(prompt) * alike(rng, 30, 0.1), hidden=frozenset({3, 7}))
    return Made(drawn.records(), {"one": costs})


def cache(rng: Generator) -> Made:
    """Half of the prompts are in the cache but for their last 2 %."""
    costs = Costs()
    prompt = np.round(rng.uniform(500, 12_000, 30))
    anew = np.ceil(prompt * rng.choice([1.0, 0.02], 30))
    drawn = Drawn(prompt, costs.wait(anew) * alike(rng, 30, 0.1), cached=prompt - anew)
    return Made(drawn.records(), {"one": costs})


def stalls(rng: Generator) -> Made:
    """Many short prompts and few long ones; heavy-tailed noise."""
    costs = Costs()
    prompt = np.round(rng.lognormal(7.5, 1.0, 30)) + 1
    return Made(Drawn(prompt, costs.wait(prompt) * heavy(rng, 30)).records(), {"one": costs})


def overlap(rng: Generator) -> Made:
    """Half of the exchanges run beside others and wait up to 5 s for them: the quiet ones must tell."""
    costs = Costs()
    prompt = np.round(rng.uniform(500, 20_000, 40))
    peak = rng.permutation(np.repeat([1.0, 3.0], 20))
    wait = costs.wait(prompt) * alike(rng, 40, 0.1)
    wait += np.where(peak > 1, rng.uniform(0, 5_000, 40) * MS, 0)
    return Made(Drawn(prompt, wait, peak=peak).records(), {"one": costs})


def queue(rng: Generator) -> Made:
    """No exchange is alone; all wait in a queue of 0.5 s in the mean: its median is in the base."""
    waits = rng.exponential(500, 40) * MS
    costs = Costs(base=300 * MS + 500 * MS * np.log(2))
    prompt = np.round(rng.lognormal(7.5, 1.0, 40)) + 1
    wait = Costs().wait(prompt) * alike(rng, 40, 0.01) + waits
    return Made(Drawn(prompt, wait, peak=np.full(40, 3.0)).records(), {"one": costs})


def reported(rng: Generator) -> Made:
    """llama.cpp's own figures; TTFT has network and first step besides."""
    costs = Costs(base=40 * MS)
    prompt = np.round(rng.uniform(500, 20_000, 25))
    read = costs.token * prompt * alike(rng, 25, 0.1)
    rest = costs.base * alike(rng, 25, 0.3)
    return Made(Drawn(prompt, read + rest, prefill=read).records(), {"one": costs})


def models(rng: Generator) -> Made:
    """Two models, one eight times as dear as the other, in one journal."""
    dear, cheap = Costs(), Costs(base=100 * MS, token=0.06 * MS)
    found: list[Record] = []
    for name, costs in (("dear", dear), ("cheap", cheap)):
        prompt = np.round(rng.uniform(500, 20_000, 24))
        drawn = Drawn(prompt, costs.wait(prompt) * alike(rng, 24, 0.1), model=name)
        found += drawn.records()
    return Made(found, {"dear": dear, "cheap": cheap})


def curved(rng: Generator) -> Made:
    """A token at 20k costs three times one at the beginning: attention on top of the weights."""
    costs = Costs(bend=0.5 * MS / 20_000)
    prompt = np.round(rng.uniform(500, 20_000, 48))
    return Made(Drawn(prompt, costs.wait(prompt) * alike(rng, 48, 0.05)).records(), {"one": costs})


def steps(rng: Generator) -> Made:
    """Answers of 32 to 600 tokens behind prompts of 0.5k to 30k; steps scatter by 8 %."""
    costs = Costs()
    prompt, answered = np.round(rng.uniform(500, 30_000, 30)), np.round(rng.uniform(32, 600, 30))
    step = costs.step + costs.carried * (prompt + answered / 2)
    decode = step * alike(rng, 30, 0.08) * (answered - 1)
    wait = costs.wait(prompt)
    return Made(Drawn(prompt, wait, answered=answered, decode=decode).records(), {"one": costs})


def no_cost(rng: Generator) -> Made:
    """Waits, and steps, that have nothing to do with the prompt."""
    prompt = np.round(rng.uniform(500, 20_000, 30))
    wait, decode = 900 * MS * heavy(rng, 30), 63 * 20 * MS * alike(rng, 30, 0.2)
    return Made(Drawn(prompt, wait, decode=decode).records(), {"one": Costs()})


def one_place(rng: Generator) -> Made:
    """Prompts that differ by a tenth."""
    prompt = np.round(rng.uniform(9_000, 10_000, 30))
    drawn = Drawn(prompt, Costs().wait(prompt) * alike(rng, 30, 0.1))
    return Made(drawn.records(), {"one": Costs()})


def few(rng: Generator) -> Made:
    """Eight exchanges."""
    prompt = np.round(rng.uniform(500, 20_000, 8))
    drawn = Drawn(prompt, Costs().wait(prompt) * alike(rng, 8, 0.1))
    return Made(drawn.records(), {"one": Costs()})


def made(family: Callable[[Generator], Made], seed: int) -> Made:
    """The journal of a seed."""
    return family(np.random.default_rng(seed))
