"""Counting the tokens of a text with somebody else's encoder.

One rule: any text has a count, and no text stalls. The words of special tokens count as the text that
they are, lone surrogates count as what a server would make of them, and a text goes to the encoder in
pieces. Which encoder counted is part of every count.

Pieces are needed (measured, tiktoken 0.14): a million spaces make its regular expression overflow its
stack, which comes out as a `PanicException` that `except Exception` does not catch; a million letters
without a space take 0.8 s in one call. In pieces of 16,384 characters the longest call took 8 ms.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from tiktoken.model import encoding_name_for_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sized

Encoding = Literal["o200k_base", "cl100k_base"]

NOT_COUNTED: Final = "not counted"
"""The source of a count that is None."""

PIECE: Final = 16_384
"""Characters that go to the encoder in one call, at most."""

_SEARCHED: Final = 2_048
"""Characters at the end of a piece in which a seam is looked for."""

_SEAM: Final = re.compile(r"(?<=[^\W\d_])[\x00-\x26\x28-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]")
"""After a letter, before ASCII that is neither letter, digit nor apostrophe. Both encodings split a
text there before they merge anything, so a cut at a seam changes no count. Elsewhere, in a run of one
kind of character, a cut adds a few tokens: 5 was the most in 39,200 random cuts, of a run of slashes."""

_FAMILIES: Final[tuple[tuple[str, Encoding], ...]] = (
    ("llama-3", "cl100k_base"),
    ("llama3", "cl100k_base"),
    ("meta-llama-3", "cl100k_base"),
)
"""Open models that one of the two encodings fits better than the default. Llama 3's vocabulary is
cl100k's and 28,000 entries more: the counts of English, German and code are the same."""

DEFAULT: Final[Encoding] = "o200k_base"
"""For models that nothing is known of. Against Qwen 3 it counts English and code within 2 %, German
12 % short and Chinese 21 % over; cl100k_base counts Chinese 63 % over. Both are some 12 % short on JSON
full of numbers, where Qwen 3 splits each digit."""


_JSON_MARK: Final = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^",:]++)|([,:])', re.DOTALL)
"""A string, also one without its end; anything else; a mark that a blank stands behind."""

_DIGITS: Final = re.compile(r"[0-9]{2,}+")
_DIGITS_A_TOKEN: Final = 3


class TextCount(NamedTuple):
    """Tokens of a text."""

    tokens: int
    digits: int
    """Tokens more for a tokenizer that makes one of each digit (Qwen, Gemma, SmolLM2)."""


class Encoder(Protocol):
    """What is needed of an encoder; a `tiktoken.Encoding` is one."""

    def encode_ordinary(self, text: str) -> Sized:
        """The tokens of a text, in which no token is special."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Counts for one family of models."""

    counter: Counter
    encoding: str
    """One of tiktoken's, or the name of a file."""

    @property
    def source(self) -> str:
        """How a count of this tokenizer came about, as the record says it."""
        return self.encoding if self.counter.fixed else f"tiktoken {self.encoding}"

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.counter.count(text, self.encoding).tokens

    def measure(self, text: str, *, definition: bool) -> TextCount:
        """Tokens of a piece of a prompt; of a tool's `definition` as a template renders it."""
        return self.counter.count(text, self.encoding, definition=definition)


class Counter:
    """Counts and remembers: a turn repeats nearly all of the prompt of the turn before.

    What is remembered is the count under a hash of the text; the texts themselves are held only while one
    exchange is read. Not for use from several threads.
    """

    def __init__(
        self,
        load: Callable[[str], Encoder | None],
        remembered: int = 32_768,
        fixed: str | None = None,
    ) -> None:
        """`load` is asked once for each encoding; None means that it is not to be had.

        The `remembered` counts used last are kept, at about 200 bytes each. `fixed` names the one
        encoder that counts for all models; None: one of tiktoken's, by the model's family.
        """
        self.fixed = fixed
        self._load = load
        self._remembered = remembered
        self._encoders: dict[str, Encoder | None] = {}
        self._counts: OrderedDict[bytes, TextCount] = OrderedDict()
        self._at_hand: dict[tuple[str, str, bool], TextCount] = {}
        """The same by the texts themselves, while one exchange is read: it asks for each more than once,
        and Python keeps a text's own hash."""

    def next_exchange(self) -> None:
        """Let go of the texts of the one before."""
        self._at_hand.clear()

    def tokenizer(self, model: str | None) -> Tokenizer | None:
        """The tokenizer for a model; None when its encoder is not to be had."""
        encoding = self.fixed or encoding_for(model)
        return None if self._encoder(encoding) is None else Tokenizer(self, encoding)

    def count(self, text: str, encoding: str, *, definition: bool = False) -> TextCount:
        """Tokens of a text, of a tool's `definition` with blanks in its JSON.

        Raises LookupError if there is no such encoder.
        """
        asked = (text, encoding, definition)
        at_hand = self._at_hand.get(asked)
        if at_hand is None:
            at_hand = self._at_hand[asked] = self._count(text, encoding, definition=definition)
        return at_hand

    def _count(self, text: str, encoding: str, *, definition: bool) -> TextCount:
        encoder = self._encoder(encoding)
        if encoder is None:
            raise LookupError(f"no encoder for {encoding}")
        text, key = _key(text, f"{encoding}+" if definition else encoding)
        known = self._counts.get(key)
        if known is not None:
            self._counts.move_to_end(key)
            return known
        rendered = spaced(text) if definition else text
        tokens = sum(len(encoder.encode_ordinary(piece)) for piece in pieces(rendered))
        count = TextCount(tokens, _single_digits(rendered))
        self._counts[key] = count
        if len(self._counts) > self._remembered:
            self._counts.popitem(last=False)
        return count

    def _encoder(self, encoding: str) -> Encoder | None:
        if encoding not in self._encoders:
            self._encoders[encoding] = self._load(encoding)
        return self._encoders[encoding]


def encoding_for(model: str | None) -> Encoding:
    """The encoding that fits a model best, by its name as a client writes it.

    A provider in front (`openai/gpt-4o`) and a tag behind (`llama3:8b`) do not matter.
    """
    name = (model or "").lower().rpartition("/")[2]
    if not name.startswith("ft:"):
        name = name.partition(":")[0]
    for prefix, encoding in _FAMILIES:
        if name.startswith(prefix):
            return encoding
    try:
        known = encoding_name_for_model(name)
    except KeyError:
        return DEFAULT
    # o200k_harmony has o200k_base's ranks; of the encodings before cl100k no rank file is at hand.
    return "cl100k_base" if known == "cl100k_base" else DEFAULT


def pieces(text: str, longest: int = PIECE) -> Iterator[str]:
    """The text in pieces of at most `longest` characters, cut at seams as far as there are any."""
    start = 0
    while len(text) - start > longest:
        end = start + longest
        seam = _SEAM.search(text, max(end - _SEARCHED, start + 1), end)
        cut = seam.start() if seam else end
        yield text[start:cut]
        start = cut
    if start < len(text):
        yield text[start:]


def spaced(json: str) -> str:
    """Compact JSON with the blanks of Python's writer, which `tojson` in chat templates is.

    They matter: 978 tokens of definitions become 1,228 with them, for each of four tokenizers.
    """
    return _JSON_MARK.sub(lambda found: found[1] or f"{found[2]} ", json)


def _single_digits(text: str) -> int:
    return sum(len(run) - -(-len(run) // _DIGITS_A_TOKEN) for run in _DIGITS.findall(text))


def _key(text: str, encoding: str) -> tuple[str, bytes]:
    """The text as valid Unicode, and a hash of it: 16 bytes, for 2**64 texts until two share one."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        # JSON can hold half of a surrogate pair; UTF-16 joins the halves that belong together and
        # the rest becomes U+FFFD, as in a server that reads leniently.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        data = text.encode()
    return text, blake2b(data, digest_size=16, key=encoding.encode()[-64:]).digest()
