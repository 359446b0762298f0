"""From a sealed exchange, and what a dialect read in it, to the record of it.

One rule: a record holds facts about an exchange and nothing of what was said in it. Of headers only
the products are taken, the caller's and the server's; of texts only counts. What was not observed is
null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import msgspec

from proxy.dialects.base import ReplyReading, RequestReading

from . import others
from .answer import output
from .composition import compose
from .record import Record, Request, Self, Timings, UsageReport
from .verdict import error_kind, generation, reply_unread

if TYPE_CHECKING:
    from proxy.dialects.base import Dialect, ReplyReader
    from proxy.wire.exchange import Exchange, Note, ReplyListener

    from .composition import Composition
    from .exact import Measured
    from .record import Load, OutcomeName, Tools, ToolSet
    from .tokens import Counter, Tokenizer


@dataclass(frozen=True, slots=True)
class Understood:
    """What a dialect made of an exchange."""

    dialect: str
    request: RequestReading
    reply: ReplyReading | None
    """None when no reply head came, so that nobody listened."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a record needs besides the exchange itself."""

    run: str
    """Names this run of the proxy; with the exchange's number it is the record's id."""
    load: Load
    counter: Counter | None
    """None: tokens are not counted here."""
    measured: Measured | None = None
    """The prompt as its server counts it; None: it was not asked or could not say."""
    notes: tuple[Note, ...] = ()
    """Of the asking."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What goes to disk for one exchange."""

    record: Record
    tool_set: ToolSet | None
    """None when no tools were offered; the same set comes again with every turn."""
    token_event_ns: tuple[int, ...] = ()
    """Time of each event that carried output, monotonic. Goes to no disk: what the record has of it are
    percentiles. Empty when the reply was not streamed, or not read to its end."""


def understand(exchange: Exchange[ReplyReader], dialect: Dialect) -> Understood:
    """Ask a dialect what it reads in an exchange. Without a request head nothing was asked for."""
    asked = RequestReading(generation=False)
    if exchange.request is not None:
        asked = dialect.read_request(exchange.request, exchange.request_body)
    return Understood(dialect.name, asked, exchange.heard.reading() if exchange.heard else None)


def derive(exchange: Exchange[ReplyListener], understood: Understood, context: Context) -> Derived:
    """The record of an exchange, and the file content for its tools."""
    asked, heard = understood.request, understood.reply
    said = heard or ReplyReading()
    unread = reply_unread(exchange, heard)
    tokenizer = _tokenizer(context.counter, asked, said)
    prompt = compose(asked, said.usage.input, tokenizer, context.measured)
    verdict = generation(exchange, asked, heard)
    opening, ending = exchange.opening, exchange.ending
    led_past = others.redirect(exchange.reply, opening.upstream) if exchange.reply else ()
    record = Record(
        id=f"{context.run}-{exchange.name}",
        at_unix_ns=opening.at_unix_ns,
        route=opening.route,
        label=opening.label,
        upstream=opening.upstream,
        backend=exchange.backend,
        peer=opening.peer,
        client=others.client(exchange.request.headers) if exchange.request else None,
        kind="turn" if asked.generation else "not_generation",
        dialect=understood.dialect,
        request=_request(exchange, asked),
        parts=prompt.parts,
        tools=_tools(prompt, said),
        timings=_timings(exchange, said, unread=unread),
        output=output(said, tokenizer, unread=unread),
        usage=_usage(said),
        counting=prompt.counting,
        reported=others.reported(said.reported),
        load=context.load,
        self=_self(exchange),
        stall_ns=ending.stall_ns,
        outcome=cast("OutcomeName", ending.outcome.name),
        generation=verdict,
        error_kind=error_kind(exchange, verdict),
        error_type=others.name(said.error_type),
        error_detail=others.name(ending.detail) or None,
        status=exchange.reply.status if exchange.reply else None,
        reply_bytes=ending.reply_bytes,
        model_served=others.name(said.model),
        server=others.server(exchange.reply.headers) if exchange.reply else None,
        fingerprint=others.plain(said.fingerprint),
        notes=others.notes(
            exchange.notes, asked.notes, said.notes, (*prompt.notes, *context.notes), led_past
        ),
    )
    events = said.token_event_ns if said.streamed and not unread else ()
    return Derived(record, prompt.tool_set, events)


def _tokenizer(
    counter: Counter | None, asked: RequestReading, said: ReplyReading
) -> Tokenizer | None:
    """None also where there is nothing to count: the first use of an encoder loads it."""
    return counter.tokenizer(asked.model or said.model) if counter and asked.generation else None


def _request(exchange: Exchange[ReplyListener], asked: RequestReading) -> Request:
    head = exchange.request
    return Request(
        method=others.name(head.method) if head else None,
        path=others.path(head) if head else None,
        model=others.name(asked.model),
        stream=asked.stream,
        bytes=exchange.ending.request_bytes,
        max_tokens=asked.max_tokens,
        sampling=others.sampling(asked.sampling),
    )


def _timings(exchange: Exchange[ReplyListener], said: ReplyReading, *, unread: bool) -> Timings:
    """Marks as offsets. What comes last in a reply is not known if part of it was not read."""

    def after(at_ns: int | None) -> int | None:
        return None if at_ns is None else at_ns - exchange.opened_ns

    return Timings(
        request_head_ns=after(exchange.request_head_ns),
        request_end_ns=after(exchange.request_end_ns),
        upstream_dial_ns=after(exchange.dial_ns),
        upstream_connected_ns=after(exchange.connected_ns),
        upstream_sent_ns=after(exchange.sent_ns),
        response_head_ns=after(exchange.reply_head_ns),
        first_byte_ns=after(exchange.first_byte_ns),
        first_event_ns=after(said.first_event_ns),
        first_token_ns=after(said.first_token_ns),
        first_reasoning_ns=after(said.first_reasoning_ns),
        first_visible_text_ns=after(said.first_visible_text_ns),
        first_tool_call_ns=after(said.first_tool_call_ns),
        last_token_ns=None if unread else after(said.last_token_ns),
        terminal_event_ns=after(said.terminal_event_ns),
        end_ns=exchange.ended_ns - exchange.opened_ns,
    )


def _usage(said: ReplyReading) -> UsageReport:
    usage = said.usage
    return UsageReport(
        input=usage.input,
        output=usage.output,
        cached=usage.cached,
        cache_write=usage.cache_write,
        reasoning=usage.reasoning,
    )


def _tools(prompt: Composition, said: ReplyReading) -> Tools | None:
    called = others.names(said.called)
    return msgspec.structs.replace(prompt.tools, called=called) if prompt.tools else None


def _self(exchange: Exchange[ReplyListener]) -> Self:
    ending = exchange.ending
    return Self(
        first_ns=ending.self_first_ns,
        worst_ns=ending.self_worst_ns,
        lateness_ns=ending.lateness_ns,
        left_out_bytes=exchange.left_out_bytes,
    )
