"""The line on disk: one `Record` an exchange, one JSON object a line.

One rule: null is not zero. A field is null when it was not observed, not said or cannot be known;
docs/journal.md says which for each, and a test holds the two together. Times are offsets in ns from
the first request byte. No prompt text, no answer text and no credential is ever in here.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

VERSION: Final = 1

Int = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number of 64 bits. None of a record is longer, so a longer one is damage, and no arithmetic
behind it has to expect one."""

Kind = Literal["turn", "hidden", "not_generation"]
Cause = Literal["system", "tools", "model", "history rewritten", "time-out", "server"]
"""Why tokens had to be read anew, in the words that clients use."""
Generation = Literal["complete", "incomplete", "error_event", "none", "unknown"]
"""`none`: no model was asked, or it never began. `unknown`: its answer could not be read to the end."""
ErrorKind = Literal[
    "http_error",
    "error_event",
    "incomplete_stream",
    "upstream_reset",
    "upstream_unreachable",
    "upstream_timeout",
    "client_disconnect",
    "proxy",
]
OutcomeName = Literal[
    "complete",
    "client_gone",
    "upstream_unreachable",
    "upstream_aborted",
    "upstream_timeout",
    "shutdown",
    "proxy_killed",
    "proxy_error",
]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    method: str | None
    """Null when no request head could be read."""
    path: str | None
    """The target's path as sent, without what may hold a credential; null also when it is no path."""
    model: str | None = None
    stream: bool | None = None
    bytes: Int = 0
    """Bytes of the whole request as it came, head and framing included."""
    max_tokens: Int | None = None
    sampling: dict[str, float | Int | str | bool] = {}


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one part of the prompt; parts stand in the order in which templates render them."""

    part: Literal["system", "tools", "history", "tool_results", "question", "media", "template"]
    role: str
    tokens: Int | None
    """Null: not counted, `source` says why."""
    count: Int = 0
    """Messages in it, or tools, or media; 0 for the template."""
    source: str
    """How it was counted: `server tokenizer`, `tiktoken o200k_base`, `tiktoken o200k_base, scaled to usage`,
    `usage minus parts`, `not counted`, ..."""


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """Tool definitions in front of the question."""

    set_hash: str
    """Names the file `tools-<hash>.json` beside the segments: names and tokens, no descriptions."""
    count: Int
    tokens: Int | None
    called: list[str] = []
    """Names, one for each call in this answer."""


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Marks that this proxy observed, ns after the first request byte. Null: it did not happen."""

    request_head_ns: Int | None = None
    request_end_ns: Int | None = None
    """u0: the last request byte came. The origin of TTFT."""
    upstream_dial_ns: Int | None = None
    """Null when an earlier exchange had opened the connection."""
    upstream_connected_ns: Int | None = None
    """Negative when the connection was reused: so long before this exchange was it ready."""
    upstream_sent_ns: Int | None = None
    response_head_ns: Int | None = None
    first_byte_ns: Int | None = None
    first_event_ns: Int | None = None
    first_token_ns: Int | None = None
    first_reasoning_ns: Int | None = None
    first_visible_text_ns: Int | None = None
    first_tool_call_ns: Int | None = None
    last_token_ns: Int | None = None
    terminal_event_ns: Int | None = None
    end_ns: Int


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What was generated."""

    tokens: Int | None = None
    source: str = "unknown"
    """`usage`, `timings`, `continuous usage`, `tiktoken <encoding>` or `unknown`."""
    reasoning_tokens: Int | None = None
    k1: Int | None = None
    """Tokens in the first token event; null: the server did not say, 1 is assumed where needed."""
    events: Int | None = None
    """Events that carried output; null when the reply was not streamed."""
    tokens_per_event: float | None = None
    gap_p50_ns: Int | None = None
    gap_p95_ns: Int | None = None
    gap_max_ns: Int | None = None
    content_kind: Literal["prose", "code", "tool_call", "mixed"] | None = None
    finish_reason: str | None = None


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """The server's bill. Null: it did not say."""

    input: Int | None = None
    output: Int | None = None
    cached: Int | None = None
    cache_write: Int | None = None
    reasoning: Int | None = None


class Counting(msgspec.Struct, frozen=True, kw_only=True):
    """How the parts were counted, and how far off the count was."""

    tokenizer: str | None = None
    counted: Int | None = None
    """Sum over the parts before scaling."""
    billed: Int | None = None
    """The server's own number for the whole prompt."""
    residual: Int | None = None
    """billed - counted: template tokens, and what a foreign tokenizer gets wrong."""
    scale: float | None = None
    """Factor put on the counted parts; null when they were left as counted."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a prompt first differs from its parent."""

    part: Literal["system", "tools", "history", "tool_results", "question", "media", "template"]
    tool: str | None = None
    message: Int | None = None
    """Of the request's messages, from 0; null: in none, as tools are."""
    offset: Int
    """Characters that are still the same, from the start of the message, the tool or the system prompt."""


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt shares with an earlier one. Null all through: nothing that is remembered."""

    parent: str | None = None
    """The id of the earlier exchange."""
    parent_age_ns: Int | None = None
    """Its end to this first request byte; negative if it still ran."""
    shared: Int | None = None
    difference: Difference | None = None
    """Null: all of the earlier prompt stands in front of this one, or all of this in front of that."""
    expected: Int | None = None
    """Tokens that a cache which keeps every prompt would have: an upper estimate."""
    reported: Int | None = None
    lost: Int | None = None
    cause: Cause | None = None
    """Null: not lost more than a block, or not known why."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Exchanges in flight through this proxy, this one included; not what the server ran."""

    in_flight_at_arrival: Int | None = None
    in_flight_mean: float | None = None
    """Weighted by time over this exchange."""
    in_flight_peak: Int | None = None


class Self(msgspec.Struct, frozen=True, kw_only=True):
    """What this proxy itself did to the exchange."""

    first_ns: Int | None = None
    """Own delay of the first reply piece, socket read to socket write: a lower bound."""
    worst_ns: Int | None = None
    lateness_ns: Int | None = None
    left_out_bytes: Int = 0
    """Bytes that flowed but were not kept for reading."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange."""

    v: Int = VERSION
    id: str
    """`<run>-<number>`: numbers of a run have no gaps unless records were lost."""
    at_unix_ns: Int
    """Wall time of the first request byte."""
    route: str
    label: str = ""
    upstream: str
    """Scheme and authority of the route's upstream."""
    backend: str | None = None
    """The address really connected to, `host:port`; null when no connection was made."""
    peer: str
    client: str | None = None
    """From the user agent: product and version."""
    thread: str | None = None
    turn: str | None = None
    kind: Kind
    dialect: str
    request: Request
    parts: list[Part] = []
    tools: Tools | None = None
    """Null when no tools were offered."""
    timings: Timings
    output: Output
    usage: UsageReport
    counting: Counting
    reported: dict[str, float | Int | str | None] = {}
    """The server's own figures, under its own names."""
    prefix: Prefix | None = None
    """Null: not compared."""
    load: Load
    self: Self
    stall_ns: Int = 0
    """Time in which the caller did not read what had come for it."""
    outcome: OutcomeName
    generation: Generation
    error_kind: ErrorKind | None = None
    error_type: str | None = None
    """The upstream's own name of the error."""
    error_detail: str | None = None
    """Why the transport ended as it did, in the system's words (`Connection refused`)."""
    status: Int | None = None
    """The upstream's; null when no response head came from it."""
    reply_bytes: Int = 0
    model_served: str | None = None
    server: str | None = None
    """What answered calls itself: the `Server` header."""
    fingerprint: str | None = None
    """`system_fingerprint`, as the reply gives it."""
    notes: list[str] = []


class ToolEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of a set: its name and what its definition costs."""

    name: str
    tokens: Int | None
    """As counted, before any scaling to the bill."""
    server: str | None = None
    """MCP server, where the name says so."""


class ToolSet(msgspec.Struct, frozen=True, kw_only=True):
    """The file `tools-<hash>.json`: what a set of tool definitions holds, without their text."""

    v: Int = VERSION
    set_hash: str
    source: str
    """How the tokens were counted."""
    tools: list[ToolEntry]


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `loss-<date>-<pid>-<n>.jsonl`: exchanges that left no record."""

    v: Int = VERSION
    at_unix_ns: Int
    ids: list[str]
    why: str


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `forgotten.jsonl`: files, or lines of them, were removed on purpose."""

    v: Int = VERSION
    at_unix_ns: Int
    """Wall time of the removal."""
    before_unix_ns: Int
    """All that was removed began before this; what began before it may be missing."""
    files: Int
    """Files that were removed or written anew."""
    bytes: Int
