"""Asks an upstream's own tokenizer what a prompt is made of, behind the exchange and beside the relay.

One rule: a question costs nobody anything that matters. It goes straight to the address that the exchange
was connected to, when the exchange is over, one at a time, with time-outs, without any credential, and never
after a redirect. What the server cannot or will not say is remembered, so that it is left in peace.

It runs in the recorder's second thread on a loop of its own that stands still between two exchanges: so each
exchange has a session of its own, and no connection waits in between.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
import orjson

from .dialects.fields import as_items, as_object, as_text, first_count
from .dialects.json_text import compact
from .journal.exact import EMPTY, measured, questions
from .wire.exchange import Note

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import ClientSession

    from .dialects.base import RequestReading
    from .dialects.slices import Slice, Slices
    from .journal.exact import Measured

Policy = Literal["private", "any", "off"]

EXCHANGE_S: Final = 2.0
"""All questions about one exchange."""
ENDING_S: Final = 1.5
"""All questions after the relay has ended: the relay waits for the recorder then."""
LEFT_ALONE_S: Final = 30.0
"""How long an upstream that failed or was late is not asked again."""
REFUSED_S: Final = 600.0
"""How long an upstream that has no such endpoint, or wants credentials, is not asked again."""
BODY_BYTES: Final = 8 * 1024 * 1024
"""The longest question: two million tokens of text."""
REPLY_BYTES: Final = 32 * 1024 * 1024
"""The longest answer: some servers list every token."""
REMEMBERED: Final = 8_192
"""Counts that are remembered, about 200 bytes each."""
REMEMBERED_S: Final = 900.0
"""How long: behind the same name there may soon be another model, with another template."""

_TEMPLATE: Final = "/apply-template"
_TOKENIZE: Final = "/tokenize"
_BUSY: Final = (408, 425, 429, 500, 502, 503, 504)
"""Answers that say nothing about the question."""
_SHARED_SPACE: Final = ipaddress.IPv4Network("100.64.0.0/10")
"""RFC 6598: neither private nor global to `ipaddress`; overlay networks such as Tailscale use it."""


class _FailedError(Exception):
    """The upstream did not answer as a server does; `str` says how."""


class _TooLongError(Exception):
    """A prompt that nobody should be asked to count; `str` says how long."""


@dataclass(slots=True)
class _Upstream:
    """What is known of one upstream's endpoints for one kind of request."""

    endpoint: str | None = None
    """The one that counts; None: not found yet."""
    quiet_until_ns: int = 0
    said: str | None = None
    """What the log was told last."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of asking about one exchange."""

    measured: Measured | None = None
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _Round:
    """The questions about one exchange."""

    session: ClientSession
    url: str
    headers: dict[str, str]
    server_name: str | None
    slices: Slices
    known: _Upstream
    served: str
    """The model that answered, as it named itself."""
    counts: dict[Slice, int] = field(default_factory=dict)


class Asking:
    """Asks for one exchange after another."""

    def __init__(
        self, policy: Policy, now: Callable[[], int], say: Callable[[str, str | None], None]
    ) -> None:
        """`say` is told an upstream and the endpoint that counts there, None for none, when that changes."""
        self._policy = policy
        self._now = now
        self._say = say
        self._runner = asyncio.Runner()
        self._upstreams: dict[tuple[str, str, tuple[str, ...]], _Upstream] = {}
        self._counts: OrderedDict[bytes, tuple[int | None, int]] = OrderedDict()
        """Count and time of asking, by a hash of server, model and question; None: it has none."""
        self.asked = 0
        """Requests sent so far."""
        self.deadline_ns: int | None = None
        """After this nothing more is asked. May be set by another thread."""

    def close(self) -> None:
        """End the loop."""
        self._runner.close()

    def would_ask(self, upstream: str, backend: str | None, asked: RequestReading) -> bool:
        """Whether there is somebody to ask about this request: allowed, able and not left in peace."""
        slices = asked.slices
        if slices is None or not slices.endpoints or not asked.generation or not asked.whole:
            return False
        if backend is None or not allowed(self._policy, backend) or self._within_s() <= 0:
            return False
        return self._now() >= self._known(upstream, backend, slices).quiet_until_ns

    def _known(self, upstream: str, backend: str, slices: Slices) -> _Upstream:
        return self._upstreams.setdefault((upstream, backend, slices.endpoints), _Upstream())

    def ask(
        self, upstream: str, backend: str | None, asked: RequestReading, served: str | None = None
    ) -> Answer:
        """The prompt of a request as the server at `backend` counts it. Never raises on what it says.

        `upstream` is the route's origin, `backend` the address that was connected to, `served` the model
        that answered.
        """
        slices, within_s = asked.slices, self._within_s()
        if slices is None or backend is None or not self.would_ask(upstream, backend, asked):
            return Answer()
        known = self._known(upstream, backend, slices)
        try:
            about = (slices, known, served or "")
            counts = self._runner.run(self._ask_all(upstream, backend, about, within_s))
        except _TooLongError as fault:
            return Answer(notes=(Note("server_count_left_out", "prompt", str(fault)),))
        except (_FailedError, OSError, TimeoutError) as fault:
            known.quiet_until_ns = self._now() + int(LEFT_ALONE_S * 1e9)
            reason = str(fault) or type(fault).__name__
            return Answer(notes=(Note("server_count_failed", "prompt", reason[:80]),))
        self._tell(upstream, known)
        return Answer(measured(slices, counts))

    def _within_s(self) -> float:
        left = EXCHANGE_S
        if self.deadline_ns is not None:
            left = min(left, (self.deadline_ns - self._now()) / 1e9)
        return left

    def _tell(self, upstream: str, known: _Upstream) -> None:
        told = known.endpoint or ""
        if known.said != told:
            known.said = told
            self._say(upstream, known.endpoint)

    async def _ask_all(
        self, upstream: str, backend: str, about: tuple[Slices, _Upstream, str], within_s: float
    ) -> dict[Slice, int]:
        import aiohttp  # noqa: PLC0415 - the relay's process imports this module and never asks

        origin = urlsplit(upstream)
        host = origin.hostname if origin.scheme == "https" else None
        try:
            async with (
                asyncio.timeout(within_s),
                aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            ):
                headers = {"Host": origin.netloc, "Content-Type": "application/json"}
                url = f"{origin.scheme}://{backend}"
                talk = _Round(session, url, headers, host, *about)
                await self._find(talk)
                for wanted in questions(talk.slices) if talk.known.endpoint else ():
                    await self._count(talk, wanted)
                return talk.counts
        except aiohttp.ClientError as fault:
            raise _FailedError(type(fault).__name__) from fault

    async def _find(self, talk: _Round) -> None:
        """Which endpoint counts an empty chat; the first that does."""
        if talk.known.endpoint:
            return
        for endpoint in talk.slices.endpoints:
            talk.known.endpoint = endpoint
            await self._count(talk, EMPTY)
            if EMPTY in talk.counts:
                return
        talk.known.endpoint = None
        talk.known.quiet_until_ns = self._now() + int(REFUSED_S * 1e9)

    async def _count(self, talk: _Round, wanted: Slice) -> None:
        """Put the count of a slice to the others, if there is one."""
        if wanted in talk.counts:
            return
        body = _json(talk.slices.body(wanted))
        if not body or len(body) > BODY_BYTES:
            raise _TooLongError(f"{len(body)} bytes")
        endpoint = talk.known.endpoint or ""
        count = await self._remembered(talk, endpoint, body)
        if count is not None:
            talk.counts[wanted] = count

    async def _remembered(self, talk: _Round, endpoint: str, body: bytes) -> int | None:
        """The count of a body, asked for unless that was done a short while ago."""
        place = "\0".join((talk.url, talk.headers["Host"], endpoint, talk.served, ""))
        hashed = blake2b(place.encode("utf-8", "replace"), digest_size=16)
        hashed.update(body)
        key = hashed.digest()
        count, at_ns = self._counts.get(key, (None, None))
        good_for_s = REFUSED_S if count is None else REMEMBERED_S
        if at_ns is None or self._now() - at_ns > good_for_s * 1e9:
            count = await self._asked(talk, endpoint, body)
            self._counts[key] = (count, self._now())
        self._counts.move_to_end(key)
        if len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
        return count

    async def _asked(self, talk: _Round, endpoint: str, body: bytes) -> int | None:
        """The count; None where the server has none for this body."""
        said = await self._post(talk, endpoint, body)
        if not endpoint.endswith(_TEMPLATE):
            return first_count(said, "input_tokens", "count") or None
        prompt = as_text(said.get("prompt"))
        if not prompt:
            return None
        # As the server itself tokenizes what a template gave.
        text = _json({"content": prompt, "add_special": True, "parse_special": True})
        said = await self._post(talk, endpoint.removesuffix(_TEMPLATE) + _TOKENIZE, text)
        return len(as_items(said.get("tokens"))) or None

    async def _post(self, talk: _Round, path: str, body: bytes) -> dict[str, Any]:
        """The JSON object of a 200; an empty one for a refusal. Raises _FailedError."""
        self.asked += 1
        async with talk.session.post(
            f"{talk.url}{path}",
            data=body,
            headers=talk.headers,
            server_hostname=talk.server_name,
            allow_redirects=False,
        ) as reply:
            if reply.status in _BUSY:
                raise _FailedError(f"status {reply.status}")
            if reply.status != 200:
                return {}
            read = bytearray()
            async for piece in reply.content.iter_any():
                read += piece
                if len(read) > REPLY_BYTES:
                    raise _FailedError("an answer too long")
        try:
            return as_object(msgspec.json.decode(read))
        except (msgspec.DecodeError, RecursionError):
            return {}


def _json(value: Any) -> bytes:
    """Empty for what is nested too deep to be written."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return compact(value).encode("utf-8", "replace")


def allowed(policy: Policy, backend: str) -> bool:
    """Whether a server at that address, `host:port`, may be asked."""
    if policy != "private":
        return policy == "any"
    host = backend.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    near = address.is_private or address.is_loopback or address.is_link_local
    return (near or address in _SHARED_SPACE) and not address.is_unspecified
