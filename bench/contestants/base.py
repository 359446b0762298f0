"""What a contestant is: a program in front of the upstream, and how it is started.

One rule: it runs as its own manual advises for streams, in a folder of its own, and on loopback alone.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Keeps = Literal["bytes", "bodies", "meaning"]


@dataclass(frozen=True)
class Place:
    """Where a contestant runs."""

    folder: Path
    """An empty folder on disk: configuration, journal, log."""
    port: int
    """To listen on, at 127.0.0.1."""
    upstream_port: int

    @property
    def upstream(self) -> str:
        """The upstream's URL."""
        return f"http://127.0.0.1:{self.upstream_port}"

    def write(self, name: str, text: str) -> str:
        """Write a file of configuration; gives its path."""
        path = self.folder / name
        path.write_text(text, "utf-8")
        return str(path)


@dataclass(frozen=True)
class Contestant:
    """One row of the comparison."""

    name: str
    program: str
    """The executable that it needs."""
    install: str
    """What brings the executable about."""
    command: Callable[[Place], list[str]] | None
    """Writes what it needs and gives the command; None: nothing stands between client and upstream."""
    keeps: Keeps = "bodies"
    """What it promises to leave as it is: all bytes, the bodies, or only their meaning."""
    headers: Callable[[Place], tuple[str, ...]] = lambda _: ()
    """What each request needs for it, beyond what any client sends."""
    version: tuple[str, ...] = ()
    """The command that says its version."""
    ready_s: float = 20.0
    """How long it may take to listen."""

    @property
    def installed(self) -> bool:
        """Whether it can be started here."""
        return self.command is None or shutil.which(self.program) is not None
