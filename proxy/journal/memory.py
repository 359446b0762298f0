"""What the recorder remembers from one exchange to the next, and what it adds to a record by that.

One rule: without it every record still is right. It adds who asked, the conversation and turn, and what
the prompt shares with an earlier one; after a restart it knows nothing and says so with null.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from . import hidden, pieces
from .asker import Asker, asker
from .ledger import MOST_BYTES, Ledger
from .prefix import Told, prefix, weigh
from .remembered import NEVER, Stay

if TYPE_CHECKING:
    from proxy.dialects.base import RequestReading
    from proxy.wire.exchange import Exchange, ReplyListener

    from .derive import Understood
    from .pieces import Prompt
    from .record import Record
    from .remembered import Match
    from .tokens import Counter

K = TypeVar("K")
V = TypeVar("V")

_MOST: Final = 4096
"""Turns, and clients, that are remembered: the ones used last."""


class Memory:
    """One for a recorder. Not for use from several threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """`most_bytes`: how much the texts of recent prompts may take, with all that belongs to them."""
        self._ledger = Ledger(most_bytes)
        self._turns: OrderedDict[tuple[str, bytes], str] = OrderedDict()
        """By thread and question; the last of a thread under an empty one."""
        self._peers: OrderedDict[str, hidden.Peer] = OrderedDict()
        self._shortened: OrderedDict[str, None] = OrderedDict()
        """Threads of which a summary was asked for, so that their next prompt may begin anew."""

    def place(
        self,
        exchange: Exchange[ReplyListener],
        understood: Understood,
        record: Record,
        counter: Counter | None,
    ) -> Record:
        """The record with what only memory can add. `counter`: as for the record itself."""
        asked = understood.request
        body = exchange.request_body
        who = asker(exchange.request, body) if exchange.request else Asker()
        if not asked.generation:
            return msgspec.structs.replace(record, client=who.client, thread=who.session)
        key = who.session or (f"{who.client}\0{record.upstream}" if who.application else None)
        found = hidden.find(asked, who, self._peers.get(key or ""), exchange.opened_ns)
        cache = f"{record.upstream}\0{_model(record)}"
        prompt = pieces.prompt(asked.parts, record.id, cache, who.session, exchange.opened_ns)
        match = self._ledger.look(prompt)
        thread = _thread(prompt, match, hidden=found.hidden)
        placed = msgspec.structs.replace(
            record,
            client=who.client,
            thread=thread,
            turn=self._turn(thread, prompt) if thread and not found.hidden else None,
            kind="hidden" if found.hidden else record.kind,
            notes=[*([str(found.note())] if found.hidden else []), *record.notes],
        )
        if asked.whole and prompt.pieces:
            tokens = _weighed(asked, record, counter)
            continues = not found.hidden and self._continues(thread, match)
            told = Told(tokens, _cached(record), continues)
            placed = msgspec.structs.replace(placed, prefix=prefix(prompt, match, told))
            ready_ns = _ready_ns(exchange, record)
            self._ledger.add(
                prompt, Stay(thread, found.hidden, tokens, ready_ns, exchange.ended_ns)
            )
        self._remember(key, thread, asked, found, exchange.opened_ns)
        return placed

    def _turn(self, thread: str, prompt: Prompt) -> str:
        """The exchange that began the turn: this one, unless it goes on with a question it had.

        In an agent's loop results stand behind the question, and the question is one that was asked
        before. Behind a question that stands last a new turn begins, also where it is put again.
        """
        asked = [piece for piece in prompt.pieces if piece.part == "question" and piece.own]
        question = (
            blake2b(b"".join(p.digest for p in asked), digest_size=16).digest() if asked else b""
        )
        own = [piece for piece in prompt.pieces if piece.own]
        goes_on = not asked or (own and own[-1] is not asked[-1])
        turn = self._turns.get((thread, question)) if goes_on else None
        turn = turn or prompt.exchange
        for key in {question, b""}:
            _keep(self._turns, (thread, key), turn)
        return turn

    def _continues(self, thread: str | None, match: Match) -> bool:
        """Whether a prompt takes up where its parent stopped, so that a difference is a loss.

        Threads alone do not say that: a client's helpers share its session and begin with other prompts.
        """
        parent = match.parent.seen if match.parent else None
        if parent is None or thread is None or parent.stay.thread != thread:
            return False
        if match.kin is not None:
            return True
        return self._shortened.pop(thread, self) is None

    def _remember(
        self,
        key: str | None,
        thread: str | None,
        asked: RequestReading,
        found: hidden.Finding,
        opened_ns: int,
    ) -> None:
        if found.hidden:
            if found.purpose == "summary" and thread:
                _keep(self._shortened, thread, None)
        elif key:
            before = self._peers.get(key)
            tools = any(part.part == "tools" for part in asked.parts) or bool(
                before and before.tools
            )
            peer = hidden.Peer(opened_ns, asked.model, asked.stream, asked.max_tokens, tools)
            _keep(self._peers, key, peer)


def _keep(table: OrderedDict[K, V], key: K, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > _MOST:
        table.popitem(last=False)


def _model(record: Record) -> str:
    """The model without a provider in front of it. A tag stays: `:8b` and `:70b` share no cache."""
    return (record.request.model or record.model_served or "").lower().rpartition("/")[2]


def _thread(prompt: Prompt, match: Match, *, hidden: bool) -> str | None:
    """As the client names it; else that of the conversation it goes on with; else a new one.

    A hidden request without a name belongs nowhere that can be seen.
    """
    if prompt.session is not None or hidden:
        return prompt.session
    if match.kin is not None:
        return match.kin.stay.thread
    data = prompt.exchange.encode("utf-8", "replace")
    return blake2b(data, digest_size=6, person=b"thread").hexdigest()


def _weighed(asked: RequestReading, record: Record, counter: Counter | None) -> list[float] | None:
    """Tokens of each piece."""
    parts = [part for part in asked.parts if part.part != "template"]
    model = record.request.model or record.model_served
    tokenizer = counter.tokenizer(model) if counter else None
    count = tokenizer.count if tokenizer else None
    return weigh(parts, record.parts, record.usage.input, count)


def _cached(record: Record) -> int | None:
    """As billed, else by llama.cpp's own figures."""
    figure = record.reported.get("cache_n")
    if record.usage.cached is not None or not isinstance(figure, int):
        return record.usage.cached
    return figure


def _ready_ns(exchange: Exchange[ReplyListener], record: Record) -> int:
    """When the server had read the prompt: at its first token, or with its whole answer."""
    marks = record.timings
    if marks.first_token_ns is not None:
        return exchange.opened_ns + marks.first_token_ns
    return exchange.ended_ns if record.generation == "complete" else NEVER
