"""The second stage: no exchange costs another its record, and none is lost to what is remembered."""

from __future__ import annotations

import socket

import pytest

from proxy.journal.lines import read_lines
from proxy.journal.record import Load
from proxy.log import Log
from proxy.sealed import Sealed, SealedQueue, Source
from proxy.settings import Settings
from proxy.wire.frame import ACK
from proxy.writing import Writing
from tests.support.builders import exchange

QUESTION = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'


class Broken:
    """A memory that fails."""

    def place(self, *_given):
        """Always."""
        raise LookupError("what was said")


@pytest.fixture
def written(tmp_path):
    """Write exchanges through a second stage, perhaps changed before; the records, acks and log."""

    def write(*exchanges, change=lambda _writing: None):
        ours, theirs = socket.socketpair()
        with ours, theirs, (tmp_path / "log").open("wb") as log:
            journal = tmp_path / "journal"
            settings = Settings(
                journal=str(journal), nice=0, retain_bytes=2**20, quiet=True, form="json"
            )
            writing = Writing(settings, Log(log.fileno(), "json"))
            change(writing)
            todo = SealedQueue()
            for each in exchanges:
                todo.put(Sealed(Source("r1", ours), each, Load()))
            todo.end()
            writing.run(todo)
            acks = len(theirs.recv(2**16)) // ACK.size
        (segment,) = journal.glob("2*.jsonl")
        return list(read_lines([segment.read_bytes()])), acks, (tmp_path / "log").read_text("utf-8")

    return write


def test_records_are_placed_among_each_other(written):
    """The second one knows the first."""
    first, second = written(
        *(exchange(number=n, opened_ns=n * 10**12, request_body=QUESTION) for n in (1, 2))
    )[0]
    assert first.thread == second.thread
    assert ("r1-1", "r1-2") == (first.turn, second.turn)


def test_a_fault_of_the_memory_costs_no_record(written):
    """It is noted without what was said, and the next exchange begins with an empty memory."""

    def broken(writing):
        writing._memory = Broken()

    (first, second), acks, log = written(
        *(exchange(number=n, request_body=QUESTION) for n in (1, 2)), change=broken
    )
    assert (["memory_failed: LookupError"], None) == (first.notes, first.thread)
    assert "question" in [part.part for part in first.parts]
    assert (second.id, []) == (second.turn, second.notes)
    assert 2 == acks
    assert "memory: LookupError" in log
    assert "what was said" not in log
