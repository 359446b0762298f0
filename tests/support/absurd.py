"""Records that no clock and no server should give, for laws that hold whatever they say.

One rule: what a journal's own types allow is allowed here.
"""

from __future__ import annotations

from hypothesis import strategies as st

from proxy.journal.record import Load, Prefix, Self, Timings, UsageReport
from tests.support.builders import AT_UNIX_NS, part, record

marks = st.none() | st.integers(-(10**12), 10**12)
figures = st.none() | st.integers(-10, 10**7) | st.floats(allow_nan=False)
moments = st.integers(AT_UNIX_NS - 10**12, AT_UNIX_NS + 10**12)
absurd_marks = st.builds(
    Timings,
    **dict.fromkeys(set(Timings.__struct_fields__) - {"end_ns"}, marks),
    end_ns=st.integers(-(10**12), 10**12),
)

absurd = st.builds(
    record,
    timings=absurd_marks,
    reported=st.fixed_dictionaries(
        dict.fromkeys(
            ("prompt_ms", "prompt_n", "predicted_ms", "queue_time_ms", "queue_time"), figures
        )
    ),
    parts=st.lists(
        st.builds(
            part,
            st.sampled_from(["tools", "question", "template"]),
            st.none() | st.integers(0, 10**12),
        ),
        max_size=4,
    ),
    usage=st.builds(UsageReport, cached=st.none() | st.integers(-5, 10**7)),
    stall_ns=st.integers(-(10**12), 10**12),
    self=st.builds(Self, first_ns=marks),
)
"""Records whose marks are missing, out of order or senseless, and servers that say anything."""

IDS = ("r1-1", "r1-2", "r1-10", "r2-1", "odd")

absurd_loops = st.lists(
    st.builds(
        record,
        id=st.sampled_from(IDS),
        at_unix_ns=moments,
        timings=absurd_marks,
        turn=st.sampled_from(["r1-1", "r1-2"]) | st.none(),
        thread=st.sampled_from(["t1", "t2"]) | st.none(),
        kind=st.sampled_from(["turn", "turn", "hidden", "not_generation"]),
        error_kind=st.none() | st.sampled_from(["http_error", "client_disconnect"]),
        prefix=st.none() | st.builds(Prefix, parent=st.sampled_from(IDS), parent_age_ns=marks),
        load=st.builds(Load, in_flight_at_arrival=st.none() | st.integers(0, 3)),
        stall_ns=st.integers(-(10**12), 10**12),
    ),
    max_size=8,
    unique_by=lambda made: made.id,
)
"""Journals of turns and hidden requests on clocks that step, with parents that may not be there."""
