"""A client of the proxy's own pages that can also be rude: it sends the bytes that it is given."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.samples import Sample


@dataclass(frozen=True)
class Reply:
    """One answer, read to the end of its connection."""

    raw: bytes

    @property
    def status(self) -> int:
        """0: the connection ended without an answer."""
        return int(self.raw.split(b" ")[1]) if self.raw else 0

    @property
    def head(self) -> str:
        """Its lines, in lower case."""
        return self.raw.partition(b"\r\n\r\n")[0].decode().lower()

    @property
    def text(self) -> str:
        """Its body."""
        return self.raw.partition(b"\r\n\r\n")[2].decode()


async def exchange(port: int, raw: bytes) -> Reply:
    """Send these bytes, and read until the other side ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        return Reply(await reader.read())
    except ConnectionError:
        return Reply(b"")
    finally:
        writer.close()


async def get(port: int, path: str = "/metrics", host: str = "", method: str = "GET") -> Reply:
    """Ask as a browser would."""
    host = host or f"127.0.0.1:{port}"
    return await exchange(port, f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())


def samples(text: str) -> Iterator[Sample]:
    """Every line that is a figure."""
    for family in text_string_to_metric_families(text):
        yield from family.samples


def figure(text: str, name: str, **labels: str) -> float | None:
    """The sum over the series of that name with these labels; None if there is none."""
    found = [
        s.value for s in samples(text) if s.name == name and labels.items() <= s.labels.items()
    ]
    return sum(found) if found else None
