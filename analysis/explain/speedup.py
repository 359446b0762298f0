"""What a faster decode does to a whole turn (Amdahl's law: the fixed part stays).

One rule: the formula depends on the side on which the turn was measured, so the caller says which.
Applied to the slow side's turn, the form for the fast side promises too much: F = 2, D = 10, s = 3
gives 2.67 instead of 2.25.
"""

from __future__ import annotations

from math import inf
from typing import Literal

Measured = Literal["before", "after"]
"""`before`: the turn ran on the slow side, the switch is to come. `after`: on the fast side."""


def whole_turn(fixed_s: float, decode_s: float, s: float, measured: Measured = "before") -> float:
    """How many times as fast the whole turn is when its decode is `s` times as fast.

    `fixed_s` is all of the turn that is not decode, `decode_s` its decode, both in seconds.
    Raises ValueError unless both are >= 0, their sum and `s` > 0.
    """
    if fixed_s < 0 or decode_s < 0 or fixed_s + decode_s <= 0 or s <= 0:
        raise ValueError(f"no speedup of a turn of {fixed_s} s + {decode_s} s by {s}")
    if measured == "before":
        return (fixed_s + decode_s) / (fixed_s + decode_s / s)
    return (fixed_s + decode_s * s) / (fixed_s + decode_s)


def ceiling(fixed_s: float, decode_s: float) -> float:
    """How many times as fast the turn becomes when decode costs nothing; inf if all is decode.

    Raises ValueError as `whole_turn` does.
    """
    if fixed_s < 0 or decode_s < 0 or fixed_s + decode_s <= 0:
        raise ValueError(f"no speedup of a turn of {fixed_s} s + {decode_s} s")
    return (fixed_s + decode_s) / fixed_s if fixed_s else inf
