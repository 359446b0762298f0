"""How an exchange turned out: whether the model's answer came to its end, and whose fault if not.

One rule: the transport's end and the generation's end are told apart. A stream that ends well without
its terminal event is cut, and an answer that was whole before the caller left is no error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Outcome

if TYPE_CHECKING:
    from proxy.dialects.base import ReplyReading, RequestReading
    from proxy.wire.exchange import Exchange, ReplyListener

    from .record import ErrorKind, Generation

_UNREAD: Final = {
    "content_left_out",
    "reply_unframed",
    "coding_unknown",
    "coding_broken",
    "coding_too_long",
    "reply_too_long",
    "websocket_broken",
    "message_too_long",
}
"""Notes after which nothing more of a body was read."""

_OURS: Final = {Outcome.shutdown, Outcome.proxy_killed, Outcome.proxy_error}


def reply_unread(exchange: Exchange[ReplyListener], reply: ReplyReading | None) -> bool:
    """True when part of the reply was not read, so that what comes last in it is not known."""
    notes = (*exchange.notes, *(reply.notes if reply is not None else ()))
    return any(note.code in _UNREAD and note.where.startswith("reply") for note in notes)


def generation(
    exchange: Exchange[ReplyListener], request: RequestReading, reply: ReplyReading | None
) -> Generation:
    """Whether a model was asked, and whether its answer came to its end."""
    if not request.generation or _never_began(exchange):
        return "none"
    if reply is not None and (reply.error_event or _error_body(reply)):
        return "error_event"
    if reply is not None and (reply.terminal_event_ns is not None or reply.finish_reason):
        return "complete"
    if reply_unread(exchange, reply):
        return "unknown"
    return "complete" if reply is not None and _whole_answer(exchange, reply) else "incomplete"


def error_kind(exchange: Exchange[ReplyListener], generation: Generation) -> ErrorKind | None:
    """Whose fault, nearest cause first; None if all went well."""
    transport = _transport_error(exchange.ending.outcome)
    if transport is not None:
        return transport
    if exchange.reply is not None and exchange.reply.status >= 400:
        return "http_error"
    if generation == "error_event":
        return "error_event"
    return _broken_off(exchange.ending.outcome, generation)


def _never_began(exchange: Exchange[ReplyListener]) -> bool:
    """No model was reached: no connection, or a status that comes in place of an answer.

    101 is an answer's: the messages of a tunnel are exchanges under its head.
    """
    if exchange.reply is None:
        return exchange.ending.outcome is Outcome.upstream_unreachable
    status = exchange.reply.status
    return status != 101 and not 200 <= status < 300


def _error_body(reply: ReplyReading) -> bool:
    """A 2xx body that is not a stream and says that there was an error."""
    return not reply.streamed and reply.error_type is not None


def _whole_answer(exchange: Exchange[ReplyListener], reply: ReplyReading) -> bool:
    """A body that is not a stream needs no terminal sign: its last byte is one."""
    if reply.streamed or exchange.ending.outcome is not Outcome.complete:
        return False
    return bool(reply.text or reply.called or reply.usage.output)


def _transport_error(outcome: Outcome) -> ErrorKind | None:
    if outcome in _OURS:
        return "proxy"
    if outcome is Outcome.upstream_unreachable:
        return "upstream_unreachable"
    return "upstream_timeout" if outcome is Outcome.upstream_timeout else None


def _broken_off(outcome: Outcome, generation: Generation) -> ErrorKind | None:
    if outcome is Outcome.upstream_aborted:
        return "upstream_reset"
    if outcome is Outcome.client_gone:
        # Many clients close as soon as they have read the terminal event.
        return None if generation == "complete" else "client_disconnect"
    return "incomplete_stream" if generation == "incomplete" else None
