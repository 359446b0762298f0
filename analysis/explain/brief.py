"""One exchange in a line: what went in, what came out, how long it took, how it ended.

One rule: each token count keeps who counted it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.store.recorded import decode_ns, ttft_ns, verdict

from .prefill import engine
from .prompt import Count, cached_tokens, input_tokens
from .source import REPORTED, Source
from .turns import standing

if TYPE_CHECKING:
    from analysis.store.recorded import Record

    from .turns import Standing


@dataclass(frozen=True, slots=True)
class Brief:
    """The line's values."""

    id: str
    at_unix_ns: int
    """Wall time of the first request byte."""
    standing: Standing
    ending: str
    """`ok`, or in a few words what went wrong: the console's verdict."""
    method: str | None
    path: str | None
    model: str | None
    input: Count | None
    """The whole prompt; None: neither billed nor counted."""
    cached: int | None
    """Of it, from a cache, as reported by the server; None: it did not say."""
    output: Count | None
    """None: unknown."""
    ttft_ns: int | None
    """None when no token was seen."""
    decode_ns: int | None
    """First to last token; None when no token was seen."""
    whole_ns: int
    """First request byte to end."""


def brief(record: Record) -> Brief:
    """The line of one record."""
    return Brief(
        id=record.id,
        at_unix_ns=record.at_unix_ns,
        standing=standing(record),
        ending=verdict(record),
        method=record.request.method,
        path=record.request.path,
        model=engine(record).model,
        input=input_tokens(record),
        cached=cached_tokens(record),
        output=output_tokens(record),
        ttft_ns=ttft_ns(record.timings),
        decode_ns=decode_ns(record.timings),
        whole_ns=max(0, record.timings.end_ns),
    )


def output_tokens(record: Record) -> Count | None:
    """Generated tokens, by the record's own ladder of sources."""
    tokens, source = record.output.tokens, record.output.source
    if tokens is None:
        return None
    if source in ("usage", "timings", "continuous usage"):
        return Count(tokens, REPORTED)
    return Count(tokens, Source("counted", f"by {source}"))
