"""Others' words as a record keeps them: few, short, finite.

One rule: no caller and no upstream can make a line endless, or put into it what readers of the journal
cannot hold. Names are cut, lists end, and a number that is not finite or has more than 64 bits is null.
"""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from proxy.wire.exchange import Note
from proxy.wire.head import value

from .keys import without_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from proxy.wire.head import Headers, ReplyHead, RequestHead

T = TypeVar("T")
Scalar = float | int | str

_NAME_LENGTH: Final = 200
"""Characters of a model's, tool's or error's name."""

_MOST_CALLS: Final = 256
_MOST_FIELDS: Final = 64
_MOST_NOTES: Final = 32

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_BEHIND_PATH: Final = re.compile(r"[?#;&]|%(?:3[fF]|23|3[bB]|26)")
_USERINFO: Final = re.compile(r"/[^/@]*:[^/@]*@")

_PRODUCT: Final = re.compile(
    r"[\w!#$%&'*+.^`|~-]{1,64}(?:/[\w!#$%&'*+.^`|~-]{1,64})?(?: v?\d[\w.-]{0,31}\b)?", re.ASCII
)
"""RFC 9110 section 10.1.5: the first product and its version; some SDKs put a space before it."""


def path(head: RequestHead) -> str | None:
    """The path of a request, as sent, without what may hold a credential: see docs/journal.md.

    None for a target that is no path (`CONNECT host:port`). Whatever follows a `?`, `#`, `;` or `&`,
    plain or escaped, is left out, and so is `user:password@`.
    """
    if head.method == "CONNECT" or not head.path.startswith(("/", "*")):
        return None
    return without_keys(_USERINFO.sub("/", _BEHIND_PATH.split(head.path, maxsplit=1)[0]))


def name(text: str | None) -> str | None:
    """A name or a short reason."""
    return None if text is None else _short(text)


def names(texts: Sequence[str]) -> list[str]:
    """Names in order."""
    return [_short(text) for text in texts[:_MOST_CALLS]]


def client(headers: Headers) -> str | None:
    """Product and version of the user agent; None if it names none."""
    found = _PRODUCT.match(value(headers, "user-agent") or "")
    return found[0] if found else None


def server(headers: Headers) -> str | None:
    """What a server calls itself; None if it does not."""
    return plain(value(headers, "server"))


def redirect(reply: ReplyHead, upstream: str) -> Iterator[Note]:
    """A note if a redirect names the upstream itself: what the client sends there passes nobody here.

    The head is relayed as it is (RFC 9110 section 10.2.2 lets a server name itself); a `Location` without an
    authority comes back to this proxy, one of elsewhere was never its affair.
    """
    where = value(reply.headers, "location") or ""
    scheme, _, rest = where.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    named = bool(authority) and f"{scheme}://{authority}".lower() == upstream.lower()
    if named and reply.status in _REDIRECTS:
        yield Note("redirect_past_proxy", "reply", "Location names the upstream's own address")


def plain(text: str | None) -> str | None:
    """A name without anything that a terminal would act on; None if nothing is left of it."""
    printable = (character for character in text or "" if character.isprintable())
    return without_keys("".join(islice(printable, _NAME_LENGTH))) or None


def sampling(fields: Mapping[str, Scalar | bool]) -> dict[str, Scalar | bool]:
    """Sampling fields as sent."""
    kept = ((k, v if isinstance(v, bool) else _scalar(v)) for k, v in _first(fields))
    return {k: v for k, v in kept if v is not None}


def reported(fields: Mapping[str, Scalar | None]) -> dict[str, Scalar | None]:
    """A server's own figures."""
    # A bool is an int to a type checker, and no type of this field in the journal.
    return {k: int(v) if isinstance(v, bool) else _scalar(v) for k, v in _first(fields)}


def notes(*sources: Iterable[Note]) -> list[str]:
    """All notes once, in order; beyond the bound the last one says how many more there were."""
    said = list(dict.fromkeys(str(note) for source in sources for note in source))
    if len(said) <= _MOST_NOTES:
        return said
    more = Note("more_notes", "", f"{len(said) - _MOST_NOTES + 1} more are not kept")
    return [*said[: _MOST_NOTES - 1], str(more)]


def _short(text: str) -> str:
    # Cut first: what is left of a key at the cut is redacted as one, if it is long enough to be of use.
    return without_keys(text[:_NAME_LENGTH])


def _first(fields: Mapping[str, T]) -> Iterator[tuple[str, T]]:
    return ((key[:_NAME_LENGTH], value) for key, value in islice(fields.items(), _MOST_FIELDS))


def _scalar(value: object) -> Scalar | None:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    return value if isinstance(value, float) and math.isfinite(value) else None
