"""Recent prompts, kept in memory to tell what a new one shares with them.

One rule: it never grows beyond its bound, and nothing of it is ever written. What was used last stays:
each turn of a conversation enters anew, sharing all that the turn before it had, and the prompt that
entered first is let go.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from .remembered import (
    NODE_BYTES,
    TEXT_BYTES,
    Match,
    Node,
    Seen,
    Text,
    longest,
    shared,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .pieces import Piece, Prompt
    from .remembered import Stay

MOST_BYTES: Final = 64 * 2**20
"""Of memory. A conversation of 100,000 tokens takes about half a megabyte, with all of its turns."""

MOST_PROMPTS: Final = 4096
"""So that looking through them is never long."""

_TELLING: Final = 80
"""Bytes of a model's own words that two prompts must share to be of one conversation."""


class Ledger:
    """Remembers prompts. Not for use from several threads."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_prompts: int = MOST_PROMPTS) -> None:
        self._most_bytes = most_bytes
        self._most_prompts = most_prompts
        self._prompts: OrderedDict[str, Seen] = OrderedDict()
        self._nodes: dict[bytes, Node] = {}
        self._texts: dict[bytes, Text] = {}
        self._talks: dict[bytes, Seen] = {}
        self.size = 0
        """Bytes held, by a count that is never below the truth."""

    def __len__(self) -> int:
        return len(self._prompts)

    def look(self, prompt: Prompt) -> Match:
        """What earlier prompts have in common with this one.

        Only what a server had read before this one came counts: two that ran side by side could not
        use each other.
        """
        depth = self._depth(prompt)
        kin = self._kin(prompt)
        thread = kin.stay.thread if kin else prompt.session
        best = longest(self._through(prompt, depth), prompt, depth)
        ours = (s for s in self._through(prompt, depth) if _of(s, thread)) if thread else ()
        found = [longest(ours, prompt, depth)]
        if kin is not None and kin.stay.ready_ns <= prompt.opened_ns:
            found.append(shared(kin, prompt, 0))  # perhaps in another cache
        parent = max(filter(None, found), key=lambda s: (s.pieces, s.letters), default=None)
        return Match(parent or best, best, kin)

    def add(self, prompt: Prompt, stay: Stay) -> None:
        """Remember a prompt, and let go of what there is no room for."""
        if prompt.exchange in self._prompts:
            return
        path, tokens = self._path(prompt, stay)
        talk = prompt.talk[-1] if prompt.talk and not stay.hidden else None
        seen = Seen(
            exchange=prompt.exchange,
            cache=prompt.cache,
            session=prompt.session,
            opened_ns=prompt.opened_ns,
            stay=stay,
            tokens=tokens,
            path=path,
            talk=talk,
        )
        self.size += seen.size
        self._prompts[prompt.exchange] = seen
        if talk is not None:
            self._talks[talk] = seen
            for node in path:
                if node.answer:
                    node.text.last = seen
        while self._prompts and (
            self.size > self._most_bytes or len(self._prompts) > self._most_prompts
        ):
            self._let_go()

    def _depth(self, prompt: Prompt) -> int:
        """Pieces of the longest front that a server had read before this prompt came."""
        for depth, key in enumerate(prompt.keys):
            node = self._nodes.get(key)
            if node is None or node.ready_ns > prompt.opened_ns:
                return depth
        return len(prompt.keys)

    def _through(self, prompt: Prompt, depth: int) -> Iterator[Seen]:
        """Prompts that have this front, newest first."""
        node = self._nodes[prompt.keys[depth - 1]] if depth else None
        for seen in reversed(self._prompts.values()):
            if node is None:
                found = seen.cache == prompt.cache
            else:
                found = len(seen.path) >= depth and seen.path[depth - 1] is node
            if found and seen.stay.ready_ns <= prompt.opened_ns:
                yield seen

    def _kin(self, prompt: Prompt) -> Seen | None:
        """The last prompt of the same conversation, as far as texts tell.

        Either all that was said in it comes back, or enough of what a model said: that survives an edit
        and a history that was cut.
        """
        for key in reversed(prompt.talk):
            seen = self._talks.get(key)
            if seen is not None and _may_be_kin(seen, prompt):
                return seen
        found, told = None, 0
        for piece in reversed(prompt.pieces):
            text = self._texts.get(piece.digest) if piece.answer else None
            if text is not None and text.last is not None and _may_be_kin(text.last, prompt):
                found = found or text.last
                told += len(piece.data)
                if told >= _TELLING:
                    return found
        return None

    def _path(self, prompt: Prompt, stay: Stay) -> tuple[tuple[Node, ...], float | None]:
        path = []
        total = 0.0
        counts = stay.tokens or [0.0] * len(prompt.pieces)
        for key, piece, count in zip(prompt.keys, prompt.pieces, counts, strict=True):
            node = self._nodes.get(key)
            if node is None:
                node = self._nodes[key] = Node(key, self._text(piece), answer=piece.answer)
                self.size += NODE_BYTES
            node.refs += 1
            node.ready_ns = min(node.ready_ns, stay.ready_ns)
            total += count
            if stay.tokens is not None:
                node.tokens = total
            path.append(node)
        return tuple(path), None if stay.tokens is None else total

    def _text(self, piece: Piece) -> Text:
        text = self._texts.get(piece.digest)
        if text is None:
            text = self._texts[piece.digest] = Text(piece)
            self.size += TEXT_BYTES + len(piece.data)
        text.refs += 1
        return text

    def _let_go(self) -> None:
        _, seen = self._prompts.popitem(last=False)
        self.size -= seen.size
        if seen.talk is not None and self._talks.get(seen.talk) is seen:
            del self._talks[seen.talk]
        for node in seen.path:
            text = node.text
            if text.last is seen:
                text.last = None
            node.refs -= 1
            if node.refs:
                continue
            del self._nodes[node.key]
            self.size -= NODE_BYTES
            text.refs -= 1
            if not text.refs:
                del self._texts[text.digest]
                self.size -= TEXT_BYTES + len(text.data)


def _of(seen: Seen, thread: str) -> bool:
    return seen.stay.thread == thread and not seen.stay.hidden


def _may_be_kin(seen: Seen, prompt: Prompt) -> bool:
    return seen.opened_ns < prompt.opened_ns and seen.session == prompt.session
