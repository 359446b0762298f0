"""What the user's own switch does to the turns, in a sentence.

One rule: what is measured, estimated or assumed is said beside it. A switch that has been made "made"
the turns faster, one that is to come "would make" them so: the two have different formulas.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Final

from analysis.explain.source import Refusal

from .units import SECONDS, factor, plural

if TYPE_CHECKING:
    from analysis.explain.asked import Switch
    from analysis.explain.whatif import Gain, Switched

KINDS: Final = {"tool_call": "tool calls", "mixed": "mixed answers"}
"""Content kinds whose name in the record is not the word for it."""


def switch_words(switched: Switched) -> tuple[str, str]:
    """What the user's switch does or did to the turns, and how that is known."""
    gain, switch = switched.gain, switched.switch
    if isinstance(gain, Refusal):
        return f"What {_named(switch)} does to a turn is not known: {gain.reason}.", ""
    made = f"made {_these(gain)}" if switch.measured == "after" else f"would make {_these(gain)}"
    subject = "The switch to " if switch.measured == "after" else "An engine with "
    text_ = (
        f"{subject}{_named(switch)} {made} {factor(gain.speedup.median)} as fast{_spread(gain)},"
        f" {SECONDS.text(gain.saved_ns.median)} less."
    )
    if gain.turns > 1:
        text_ += f" All {gain.turns:,} together: {factor(gain.total_speedup)}."
    return text_ + _ceiling(switched) + _unnamed(switched), _known(switch)


def _these(gain: Gain) -> str:
    return "this turn" if gain.turns == 1 else f"the median of {gain.turns:,} turns"


def _spread(gain: Gain) -> str:
    return "" if gain.turns == 1 else f" (the middle half {_half(gain)})"


def _half(gain: Gain) -> str:
    if gain.turns == 1:
        return ""
    return f"{gain.speedup.low:.2f} to {gain.speedup.high:.2f}"


def _named(switch: Switch) -> str:
    if not switch.by_kind:
        return f"{switch.other:g} x the decode speed"
    each = [
        f"{s:g} x {'' if n else 'the decode speed '}for {KINDS.get(kind, kind)}"
        for n, (kind, s) in enumerate(switch.by_kind.items())
    ]
    return f"{', '.join(each)} and {switch.other:g} x for the rest"


def _ceiling(switched: Switched) -> str:
    most = switched.ceiling
    if most is None or isinf(most):
        return ""
    more = "more decode speed on top" if switched.switch.measured == "after" else "decode speed"
    return f" No {more} can make it more than {factor(most)}."


def _unnamed(switched: Switched) -> str:
    if not switched.unnamed_turns:
        return ""
    turns = plural(switched.unnamed_turns, "turn has an answer", "turns have answers")
    return f" {turns} of a kind that was not named."


def _known(switch: Switch) -> str:
    side = "slow" if switch.measured == "before" else "fast"
    return f"estimated: these turns ran on the {side} side; all but decoding stays, and s is as you say"
