"""The language between caller and upstream: what is asked for, and how both ends prove what they saw.

One rule: a digest covers every byte that it can, heads and framing included. The reply's head says what
the upstream received; the last 64 hexadecimal digits of a reply say what it had sent before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

HEADER: Final = re.compile(rb"\r\nX-Soak: (\d+) (\d+) (\d+) (\d+)\r\n")
RECEIVED: Final = re.compile(rb"\r\nX-Soak-Received: ([0-9a-f]{64})\r\n")
END: Final = re.compile(rb'([0-9a-f]{64})(?:"\}|\n\n\r\n0\r\n\r\n)\Z')
END_BYTES: Final = 80
"""More than an end has."""

_TOOLS: Final = b'{"type":"function","function":{"name":"%s","parameters":{"type":"object"}}}'


@dataclass(frozen=True, slots=True)
class Wish:
    """One reply, as the caller wants it."""

    events: int = 0
    """Events of a stream; 0: a short plain JSON reply."""
    gap_ms: int = 0
    """Between two events."""
    size: int = 20
    """Bytes of text in an event."""
    reset_after: int = 0
    """Events after which the upstream resets; 0: never."""

    @property
    def header(self) -> bytes:
        """The line that asks for it."""
        return b"X-Soak: %d %d %d %d\r\n" % (self.events, self.gap_ms, self.size, self.reset_after)


def wished(head: bytes) -> Wish:
    """What a request head asks for; a plain reply when it asks for nothing."""
    found = HEADER.search(head)
    return Wish(*map(int, found.groups())) if found else Wish()


def request(wish: Wish, host: str, body: bytes, path: str = "/v1/chat/completions") -> bytes:
    """A whole request. `host` is the upstream's authority, so that the proxy has nothing to rewrite."""
    return head(wish, host, len(body), path) + body


def head(wish: Wish, host: str, length: int, path: str) -> bytes:
    """The head of a request with a body of so many bytes."""
    lines = (
        b"POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer sk-soak\r\n"
        b"Content-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
    )
    return lines % (path.encode(), host.encode(), wish.header, length)


def chat(question: str, *, system_bytes: int = 2000, tool: str = "search") -> bytes:
    """A chat request as agents send it: a system prompt, a tool, a question."""
    system = b"You answer in short plain sentences. " * (system_bytes // 37 + 1)
    return (
        b'{"model":"soak","stream":true,"stream_options":{"include_usage":true},"tools":[%s],"messages":'
        b'[{"role":"system","content":"%s"},{"role":"user","content":"%s"}]}'
        % (_TOOLS % tool.encode(), system, question.encode())
    )
