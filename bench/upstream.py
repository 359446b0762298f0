"""The scripted upstream: `python -m bench.upstream`. It prints its port, and ends when its input does.

One rule: as little work for each chunk as Python allows, so that it is the contestant's work that is
seen. One loop over epoll; the stamp is taken right before `send`. Roads not taken: asyncio, whose
timers have steps of 1 ms, so that streams would come in bursts; and epoll's own time-out, for the same
reason (`select` on the epoll descriptor waits by the microsecond).
"""

from __future__ import annotations

import contextlib
import gc
import heapq
import re
import select
import socket
import sys
from typing import Final

import orjson

from . import sse
from .clock import monotonic_ns
from .script import LAST, Script, asked, digest, unchunked, without_host

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_READ_BYTES: Final = 256 * 1024
_GOLDEN: Final = 0.6180339887498949
"""Multiples of it, modulo one, spread any number of streams evenly over the interval."""


class Connection:
    """One caller: its request as far as it came, and what could not be sent yet."""

    __slots__ = ("body", "head", "kept", "missing", "sock", "unsent")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.head = b""
        self.body: list[bytes] = []
        self.missing = -1
        """Bytes of the body that are still to come; below zero: the head is not whole."""
        self.unsent = bytearray()
        self.kept: list[bytes] | None = None
        """All that was sent in this exchange, if it is to be kept."""


class Stream:
    """A reply under way."""

    __slots__ = ("connection", "due_ns", "interval_ns", "left", "script")

    def __init__(self, connection: Connection, script: Script, due_ns: int) -> None:
        self.connection = connection
        self.script = script
        self.left = script.chunks - 1
        """Deltas to come; the first one went out with the head."""
        self.interval_ns = script.interval_us * 1000
        self.due_ns = due_ns

    def __lt__(self, other: Stream) -> bool:
        return self.due_ns < other.due_ns


class Upstream:
    """All connections, and the streams by the time of their next chunk."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._poll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self._due: list[Stream] = []
        self._started = 0
        self._delta = sse.framed_delta()
        self._last: dict[str, object] = {}

    def serve(self, until_fd: int) -> None:
        """Serve until the descriptor is at its end."""
        self._poll.register(self._listener.fileno(), select.EPOLLIN)
        self._poll.register(until_fd, select.EPOLLIN | select.EPOLLHUP)
        while True:
            wait_s = self._send_what_is_due()
            select.select([self._poll], [], [], wait_s)
            for fd, events in self._poll.poll(0):
                if fd == until_fd:
                    return
                if (connection := self._connections.get(fd)) is None:
                    self._accept()
                elif events & select.EPOLLOUT:
                    self._flush(connection)
                else:
                    self._read(connection)

    # The pace

    def _send_what_is_due(self) -> float | None:
        """Send each chunk whose time has come; gives the seconds to the next, None if there is none."""
        due = self._due
        while due:
            stream = due[0]
            ahead_ns = stream.due_ns - monotonic_ns()
            if ahead_ns > 0:
                return ahead_ns / 1e9
            connection = stream.connection
            if stream.left > 0:
                stream.left -= 1
                stream.due_ns += stream.interval_ns
                heapq.heapreplace(due, stream)
                self._send(connection, self._delta % monotonic_ns())
            else:
                heapq.heappop(due)
                self._end(stream)
        return None

    def _begin(self, connection: Connection, script: Script) -> None:
        self._started += 1
        offset = self._started * _GOLDEN % 1.0 * script.interval_us * 1000
        now = monotonic_ns()
        first = self._delta % now
        self._send(connection, sse.STREAM_HEAD + sse.framed(sse.OPENER) + first)
        due_ns = now + script.interval_us * 500 + int(offset)
        heapq.heappush(self._due, Stream(connection, script, due_ns))

    def _end(self, stream: Stream) -> None:
        prompt, output = 8000, stream.script.chunks
        ending = sse.ENDING % (prompt, output, prompt + output)
        connection = stream.connection
        self._send(connection, sse.framed(ending) + sse.LAST_CHUNK)
        self._ended(connection)

    # The sockets

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                sock, _ = self._listener.accept()
                sock.settimeout(0)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections[sock.fileno()] = Connection(sock)
                self._poll.register(sock.fileno(), select.EPOLLIN)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(connection)
            return
        if connection.missing < 0:
            head, end, data = (connection.head + data).partition(b"\r\n\r\n")
            connection.head = head + end
            if not end:
                return
            length = _LENGTH.search(head)
            connection.missing = int(length[1]) if length else 0
        if data:
            connection.body.append(data)
            connection.missing -= len(data)
        if connection.missing == 0:
            self._answer(connection)

    def _send(self, connection: Connection, data: bytes) -> None:
        if connection.kept is not None:
            connection.kept.append(data)
        sent = 0
        if not connection.unsent:
            try:
                sent = connection.sock.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                return  # the caller is gone; reading says so
        if sent < len(data):
            if not connection.unsent:
                wanted = select.EPOLLIN | select.EPOLLOUT
                self._poll.modify(connection.sock.fileno(), wanted)
            connection.unsent += data[sent:]

    def _flush(self, connection: Connection) -> None:
        try:
            sent = connection.sock.send(connection.unsent)
        except BlockingIOError:
            return
        except OSError:
            self._drop(connection)
            return
        del connection.unsent[:sent]
        if not connection.unsent:
            self._poll.modify(connection.sock.fileno(), select.EPOLLIN)

    def _drop(self, connection: Connection) -> None:
        self._poll.unregister(connection.sock.fileno())
        del self._connections[connection.sock.fileno()]
        connection.sock.close()
        self._due = [stream for stream in self._due if stream.connection is not connection]
        heapq.heapify(self._due)

    # The exchanges

    def _answer(self, connection: Connection) -> None:
        """The request is whole."""
        head, body = connection.head, connection.body
        if head.startswith(b"GET "):
            self._tell(connection)
        elif b"/chat/completions" not in head.partition(b"\r\n")[0]:
            self._send(connection, sse.document(b'{"error":"no such path"}', b"404 Not Found"))
            self._ended(connection)
        else:
            script = asked(body)
            connection.kept = [] if script.kept else None
            if script.chunks:
                self._begin(connection, script)
            else:
                self._send(connection, sse.plain(sum(map(len, body))))
                self._ended(connection)

    def _tell(self, connection: Connection) -> None:
        if connection.head.startswith(f"GET {LAST} ".encode()):
            self._send(connection, sse.document(orjson.dumps(self._last)))
        else:
            self._send(connection, sse.document(b'{"error":"no such path"}', b"404 Not Found"))
        self._ended(connection)

    def _ended(self, connection: Connection) -> None:
        if connection.kept is not None:
            self._last = {
                "request_head": digest(without_host(connection.head)),
                "request_body": digest(b"".join(connection.body)),
                "reply": digest(b"".join(connection.kept)),
                "reply_body": digest(unchunked(b"".join(connection.kept)[len(sse.STREAM_HEAD) :])),
            }
        connection.kept = None
        connection.head, connection.body, connection.missing = b"", [], -1


def main() -> None:
    """Listen on any free port of loopback."""
    gc.disable()  # nothing here makes cycles
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    listener.settimeout(0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    Upstream(listener).serve(sys.stdin.fileno())


if __name__ == "__main__":
    main()
