"""What the proxy wrote down: the one place at which analysis sees proxy's types and definitions.

One rule: names are passed on, nothing is added. Whoever explains or renders imports them from here,
so that one file shows how far the two packages know each other.
"""

from __future__ import annotations

from proxy.journal.console import line, verdict
from proxy.journal.gauge import VERSION as GAUGE_VERSION
from proxy.journal.gauge import GaugeSample
from proxy.journal.lines import UNREADABLE, Damage, Piece, encode, read_lines, read_pieces
from proxy.journal.names import FORGOTTEN, Dated, Sort, dated, run_began_unix_ns, tool_set_hash
from proxy.journal.record import (
    VERSION,
    Cause,
    Counting,
    Difference,
    Forgotten,
    Load,
    Loss,
    Output,
    Part,
    Record,
    Request,
    Self,
    Timings,
    ToolEntry,
    ToolSet,
    UsageReport,
)
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
    "FORGOTTEN",
    "GAUGE_VERSION",
    "UNREADABLE",
    "VERSION",
    "Cause",
    "Counting",
    "Damage",
    "Dated",
    "Difference",
    "Figure",
    "Forgotten",
    "GaugeSample",
    "Load",
    "Loss",
    "Output",
    "Part",
    "Piece",
    "Record",
    "Request",
    "Self",
    "Sort",
    "Timings",
    "ToolEntry",
    "ToolSet",
    "UsageReport",
    "client_speed",
    "dated",
    "decode_ns",
    "decode_speed",
    "encode",
    "line",
    "read_lines",
    "read_pieces",
    "request_speed",
    "run_began_unix_ns",
    "step_speed",
    "tool_set_hash",
    "tpot_ns",
    "ttft_ns",
    "turn_speed",
    "verdict",
]
