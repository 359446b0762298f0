"""What the proxy wrote down: the one place at which analysis sees proxy's types and definitions.

One rule: names are passed on, nothing is added. Whoever explains or renders imports them from here,
so that one file shows how far the two packages know each other.
"""

from __future__ import annotations

from proxy.journal.console import line, verdict
from proxy.journal.lines import Damage, encode, read_lines
from proxy.journal.record import VERSION, Loss, Output, Part, Record, Timings, ToolEntry, ToolSet
from proxy.journal.timing import (
    Figure,
    client_speed,
    decode_ns,
    decode_speed,
    request_speed,
    step_speed,
    tpot_ns,
    ttft_ns,
    turn_speed,
)

__all__ = [
    "VERSION",
    "Damage",
    "Figure",
    "Loss",
    "Output",
    "Part",
    "Record",
    "Timings",
    "ToolEntry",
    "ToolSet",
    "client_speed",
    "decode_ns",
    "decode_speed",
    "encode",
    "line",
    "read_lines",
    "request_speed",
    "step_speed",
    "tpot_ns",
    "ttft_ns",
    "turn_speed",
    "verdict",
]
