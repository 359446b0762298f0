"""What the operator may want: every key with its type, unit, bounds and default, frozen.

One rule: the annotations are the schema, there is no second list of keys. `configfile.load` reads
them, the docs and the example are tested against them.

No `from __future__ import annotations` here: msgspec reads the types when the program runs.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from .address import Address, Network, Origin

Seconds = Annotated[float, Meta(ge=0, le=86_400, description="seconds, from 0 to 86400 (a day)")]
TimeOut = Annotated[float, Meta(gt=0, le=86_400, description="seconds, above 0, at most 86400")]
Bytes = Annotated[int, Meta(ge=65_536, le=2**40, description="bytes, a whole number from 65536")]
Step = Annotated[float, Meta(ge=0.1, le=3600, description="seconds, from 0.1 to 3600 (an hour)")]
Days = Annotated[int, Meta(ge=1, le=36_500, description="days, a whole number from 1")]
Nice = Annotated[int, Meta(ge=0, le=19, description="a whole number from 0 to 19")]
Workers = Annotated[int, Meta(ge=1, le=64, description="a whole number from 1 to 64")]
Flag = Annotated[bool, Meta(description="true or false")]
Word = Annotated[
    str,
    Meta(
        max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$", description="a text of at most 64 characters"
    ),
]
HostPolicy = Annotated[Literal["upstream", "keep"], Meta(description='"upstream" or "keep"')]
Asking = Annotated[Literal["private", "any", "off"], Meta(description='"private", "any" or "off"')]
Form = Annotated[Literal["auto", "text", "json"], Meta(description='"auto", "text" or "json"')]


STATUS_LISTEN: Final = Address("127.0.0.1", 8485)


def default_journal_dir() -> Path:
    """`$XDG_STATE_HOME/turnscope/journal`, else below `~/.local/state`.

    A relative XDG_STATE_HOME does not count, as the XDG base directory specification asks.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    return base / "turnscope" / "journal"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One listener and where it leads."""

    listen: Address = Address("127.0.0.1", 8484)
    upstream: Origin = Origin("http", "127.0.0.1", 8000)
    label: Word = ""
    """The operator's word for it in records and on the console; empty: none."""
    host: HostPolicy = "upstream"
    """Whether `Host` is set to the upstream's authority or kept as the client sent it."""
    connect_timeout_s: TimeOut = 10.0
    """For one connection to the upstream: look-up, TCP and TLS together."""
    read_timeout_s: TimeOut | None = None
    """Longest silence of the upstream while a reply is due; None: as long as the client waits."""
    allow: tuple[Network, ...] | None = None
    """Whose callers may come in; None: everyone who can connect. Loopback is not in it by itself."""
    tls_cert: Path | None = None
    """PEM: the listener's certificate, then those between it and its root; None: plain HTTP."""
    tls_key: Path | None = None
    """PEM: its private key. Both or neither."""
    gauge: Flag = False
    """True: the upstream's own metrics are sampled into the journal."""
    gauge_interval_s: Step = 1.0
    """Between two samples while exchanges run; an answer that takes longer is dropped."""


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """Where records go."""

    dir: Path = msgspec.field(default_factory=default_journal_dir)
    keep_days: Days | None = None
    """Files of days before so many whole ones are removed; None: never."""
    max_bytes: Bytes | None = None
    """Beyond so many the oldest files are removed; None: never."""


class Recorder(msgspec.Struct, frozen=True, kw_only=True):
    """The process that reads along."""

    nice: Nice = 5
    """Its niceness: how far it stands back for the relay and for a local inference server."""
    queue_bytes: Bytes = 64 * 1024 * 1024
    """What may wait in the relay for it; beyond that, bytes are left out and counted."""
    retain_bytes: Bytes = 64 * 1024 * 1024
    """What is kept of one exchange for reading; beyond that, timing alone goes on."""


class Relay(msgspec.Struct, frozen=True, kw_only=True):
    """How many processes relay, and how they stop."""

    workers: Workers = 1
    """Processes that share the routes' ports; each takes up to one core."""

    grace_s: Seconds = 10.0
    """How long exchanges in flight may go on after the first signal to stop."""
    drain_s: Seconds = 5.0
    """How long the recorder may then take to write what it has."""


class Console(msgspec.Struct, frozen=True, kw_only=True):
    """What is said while it runs."""

    quiet: Flag = False
    """True: no line for each exchange."""
    format: Form = "auto"
    """auto: text on a terminal, JSON otherwise."""


class Tokenizer(msgspec.Struct, frozen=True, kw_only=True):
    """Who counts the parts of a prompt."""

    server: Asking = "private"
    """Whether upstreams are asked: those at loopback and private addresses, any, or none."""
    file: Path | None = None
    """A model's `tokenizer.json`, for what no server counts; None: tiktoken, by the model's family."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The proxy's own pages: health, and metrics for Prometheus."""

    enabled: Flag = True
    """False: there are none."""
    listen: Address | None = None
    """None: `STATUS_LISTEN`, and none if that is taken. A named one that is taken stops the start."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; without a file, all defaults."""

    route: tuple[Route, ...] = (Route(),)
    journal: Journal = msgspec.field(default_factory=Journal)
    recorder: Recorder = Recorder()
    relay: Relay = Relay()
    console: Console = Console()
    tokenizer: Tokenizer = Tokenizer()
    status: Status = Status()


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line says; None: nothing. It wins over the file."""

    listen: str | None = None
    upstream: str | None = None
    label: str | None = None
    journal: str | None = None
    quiet: bool | None = None
    status: str | None = None
    """An address, or `off`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong."""

    key: str
    """`route[0].upstream` (the first `[[route]]`), `--upstream`, or the file's path."""
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.key}: {self.what}; {self.remedy}"


class ConfigError(Exception):
    """A config that is refused, with every fault in it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults: Final = tuple(faults)
