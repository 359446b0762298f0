"""Which messages are the question that is being answered: the same rule for every format.

One rule: the question is the last thing that the user said. In an agent's loop that is far up, with
calls and results behind it; it stays the question, they do not become one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SYSTEM_ROLES: Final = ("system", "developer")


def current_turn(roles: Sequence[str]) -> range:
    """The messages of the current question: the last one of role `user` and those that it goes on from.

    Several user messages in a row (context, then the question) are one turn, also with a system message
    between them. What stands behind the range is a running loop; what stands before it, earlier turns.
    Empty at 0 where the user said nothing.
    """
    last = max((n for n, role in enumerate(roles) if role == "user"), default=-1)
    first = last
    while first > 0 and roles[first - 1] in ("user", *SYSTEM_ROLES):
        first -= 1
    return range(max(first, 0), last + 1)
