"""Which messages are the question: by their roles alone, in every format."""

from __future__ import annotations

import pytest

from proxy.dialects.turn import current_turn

TURNS = {
    "no message": ([], range(0)),
    "nothing of the user": (["system", "assistant", "tool"], range(0)),
    "one question": (["user"], range(1)),
    "a later one": (["system", "user", "assistant", "user"], range(3, 4)),
    "context before it": (["user", "user"], range(2)),
    "a system message between": (["user", "assistant", "user", "developer", "user"], range(2, 5)),
    "system messages in front": (["system", "user"], range(2)),
    "a running loop": (["user", "assistant", "user", "assistant", "tool"], range(2, 3)),
    "unknown roles": (["user", "narrator", "user"], range(2, 3)),
}


@pytest.mark.parametrize(("roles", "turn"), TURNS.values(), ids=TURNS)
def test_the_question_is_what_the_user_said_last(roles, turn):
    """With what leads to it; calls and results behind it are none of it."""
    assert current_turn(roles) == turn
    assert current_turn(roles).stop == turn.stop
