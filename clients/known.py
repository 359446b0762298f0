"""What is known of each client, and where a turn differs from it.

One rule: the figures are those of one version, measured elsewhere, and stand in expected.toml. A
difference is a piece of information: another version, another surrounding, or a reader that is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .seen import Asked, Kind, Seen

FILE: Final = Path(__file__).with_name("expected.toml")

_SHARE: Final = 0.1
"""How far a number of tokens may be off, of what is expected."""
_TOKENS: Final = 4
"""And how far in any case: a short text is counted with or without its surroundings."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request for output. Tokens by o200k_base."""

    kind: str
    dialect: str
    system: int = 0
    tools: int = 0
    tools_tokens: int = 0
    user: int = 0
    place_tokens: int = 0
    """Of `user`: what tells of folder, files, date and system, and so may be otherwise here."""
    billed: int | None = None
    """By the tiny model's tokenizer and template; None: not known, or nothing bills."""


class Known(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client's turn."""

    version: str
    request: list[Request]
    others: list[str] = []
    """Method and path of what asks for no output."""


def known(path: Path = FILE) -> dict[str, Known]:
    """All of them, by the client's name."""
    return msgspec.toml.decode(path.read_bytes(), type=dict[str, Known])


def differences(expected: Known, version: str, seen: Seen) -> list[str]:
    """A sentence for each thing that is not as expected."""
    found = list(seen.faults)
    if version != expected.version:
        found.append(f"version {version}, the figures are those of {expected.version}")
    if sorted(seen.others) != sorted(expected.others):
        found.append(f"other requests: {_listed(seen.others)}, not {_listed(expected.others)}")
    for kind in ("turn", "hidden"):
        asked = _of_kind(seen.asked, kind)
        wanted = sorted((r for r in expected.request if r.kind == kind), key=_size)
        if len(asked) != len(wanted):
            found.append(f"{len(asked)} requests of kind {kind}, not {len(wanted)}")
            continue
        for one, other in zip(asked, wanted, strict=True):
            found += [f"{kind}: {what}" for what in _apart(one, other)]
    return found


def _of_kind(asked: Sequence[Asked], kind: Kind) -> list[Asked]:
    """From the longest prompt to the shortest: requests of one moment have no order of their own."""
    return sorted((one for one in asked if one.kind == kind), key=_size)


def _size(one: Asked | Request) -> int:
    return -(one.system + one.tools_tokens + one.user)


def _apart(asked: Asked, expected: Request) -> Iterator[str]:
    if asked.dialect != expected.dialect:
        yield f"read as {asked.dialect}, not {expected.dialect}"
    if asked.tools != expected.tools:
        yield f"{asked.tools} tools, not {expected.tools}"
    for name in ("system", "tools_tokens", "user", "billed"):
        got, want = getattr(asked, name), getattr(expected, name)
        slack = expected.place_tokens if name in {"user", "billed"} else 0
        if want is not None and not _near(got, want, slack):
            yield f"{name.replace('_', ' ')} {got}, not {want}"


def _near(got: int | None, want: int, slack: int) -> bool:
    return got is not None and abs(got - want) <= max(_SHARE * want, _TOKENS, slack)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)) or "none"
