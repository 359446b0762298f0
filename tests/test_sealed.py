"""What waits between the recorder's two threads is bounded, and a pipe is let go of when it ends."""

from __future__ import annotations

import socket
import threading

from proxy.journal.record import Load
from proxy.sealed import Sealed, SealedQueue, Source
from proxy.wire.frame import ACK
from tests.support.builders import exchange


def test_beyond_the_bound_in_number_the_first_stage_waits():
    """So the recorder's memory is bounded; what it does not read waits in the relay, which leaves out."""
    todo = SealedQueue(most_exchanges=2)
    here, there = socket.socketpair()
    with here, there:
        source = Source("r", here)
        one = Sealed(source, exchange(), Load())
        putting = threading.Thread(target=lambda: [todo.put(one) for _ in range(3)])
        putting.start()
        putting.join(0.2)
        assert putting.is_alive()
        assert todo.qsize() == 2
        todo.get()
        putting.join(5)

        assert not putting.is_alive()
        assert todo.qsize() == 2


def test_a_source_that_was_closed_acknowledges_nothing():
    """The number of its descriptor may be another pipe's by then."""
    here, there = socket.socketpair()
    with there:
        source = Source("r", here)
        source.acknowledge(7)
        source.close()
        source.acknowledge(8)

        assert ACK.pack(7) == there.recv(64)
        assert there.recv(64) == b""
