"""The recorder's counting step: who counts the prompt of an exchange, the server or an encoder here.

One rule: records do not wait for a server. When exchanges pile up, or the relay has ended, nobody is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import clock, ranks, tokenizer_file
from .asking import ENDING_S, Answer, Asking
from .journal.tokens import Counter
from .log import Event
from .wire.exchange import Note

if TYPE_CHECKING:
    from .journal.derive import Understood
    from .log import Log
    from .settings import Settings
    from .wire.exchange import Exchange, ReplyListener

MOST_BEHIND: Final = 16
"""Exchanges that may wait to be written while a server is asked."""


class CountingStep:
    """Counts for one exchange after another. `hurry` alone may be called from another thread."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._log = log
        self._asking = Asking(settings.asking, clock.monotonic_ns, self._found)
        self.counter = _counter(settings.tokenizer_file)

    def load(self) -> None:
        """Half a second: before the first exchange needs it."""
        self.counter.tokenizer(None)

    def hurry(self) -> None:
        """The relay has ended and waits: from now on little more is asked."""
        self._asking.deadline_ns = clock.monotonic_ns() + int(ENDING_S * 1e9)

    def close(self) -> None:
        """No more will be counted."""
        self._asking.close()

    def ask(
        self, exchange: Exchange[ReplyListener], understood: Understood, waiting: int
    ) -> Answer:
        """What the server says of the prompt. `waiting`: how many exchanges stand behind this one."""
        reply, said = exchange.reply, understood.reply
        if reply is None or not 200 <= reply.status < 300 or said is None:
            return Answer()  # what it refused it would refuse again
        upstream, backend, asked = exchange.opening.upstream, exchange.backend, understood.request
        if not self._asking.would_ask(upstream, backend, asked):
            return Answer()
        if waiting > MOST_BEHIND:
            note = Note("server_count_left_out", "prompt", f"{waiting} exchanges waited")
            return Answer(notes=(note,))
        served = f"{said.model} {said.fingerprint}"
        return self._asking.ask(upstream, backend, asked, served)

    def _found(self, upstream: str, endpoint: str | None) -> None:
        sentence = f"{upstream} offers no token count; prompts are counted here"
        if endpoint:
            sentence = f"{upstream} is asked for token counts at {endpoint}"
        self._log.say(Event.TOKENIZER_ASKED, sentence, upstream=upstream, endpoint=endpoint)


def _counter(file: str | None) -> Counter:
    if file is None:
        return Counter(ranks.load)
    path = Path(file)
    return Counter(lambda _name: tokenizer_file.load(path), fixed=tokenizer_file.name(path))
