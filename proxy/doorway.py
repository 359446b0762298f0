"""Who may come in at a listener, and what is said of those who may not or who speak the wrong protocol.

One rule: a flood at the door makes no flood in the log. The first is said at once, those after it are
counted and said once a minute. Nothing here reads a byte.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Final

from .greeting import base_url
from .log import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from .config import Route
    from .session import Floor

PERIOD_S: Final = 60.0
"""The shortest time between two lines about the same thing."""

_HTTP: Final = {"HTTP_REQUEST", "HTTPS_PROXY_REQUEST"}
"""OpenSSL's words for a first line of plain HTTP where a TLS hello was due."""


class Seldom:
    """Counts something, and has it said: at once, and from then on once a period while it goes on."""

    def __init__(self, say: Callable[[str, int], None], period_s: float = PERIOD_S) -> None:
        """`say` gets the last peer and how many there were since it was called last."""
        self._say = say
        self._period_s = period_s
        self._peer = ""
        self._unsaid = 0
        self._timer: asyncio.TimerHandle | None = None
        self.total = 0
        """Since the start."""

    def happened(self, peer: str) -> None:
        """Once more."""
        self.total += 1
        self._unsaid += 1
        self._peer = peer
        if self._timer is None:
            self._speak()

    def _speak(self) -> None:
        unsaid, self._unsaid = self._unsaid, 0
        self._timer = asyncio.get_running_loop().call_later(self._period_s, self._look)
        self._say(self._peer, unsaid)

    def _look(self) -> None:
        self._timer = None
        if self._unsaid:
            self._speak()


class Doorway:
    """The door of one route."""

    def __init__(self, route: Route, floor: Floor) -> None:
        self.route = route
        """With the port that it got, once it has one."""
        self._floor = floor
        self._detail = ""
        self.no_room = Seldom(self._say_no_room)
        self.not_allowed = Seldom(self._say_not_allowed)
        self.plain_http = Seldom(self._say_plain_http)
        self.no_handshake = Seldom(self._say_no_handshake)
        self.tls_hello = Seldom(self._say_tls_hello)
        """A caller that speaks TLS to a plain listener. It is let in: its bytes are passed on."""

    def admits(self, host: str) -> bool:
        """Whether a caller from there may come in."""
        allow = self.route.allow
        return allow is None or any(network.holds(host) for network in allow)

    def turn_away(self, peer: str) -> None:
        """Count a caller that may not come in."""
        self._floor.turned_away += 1
        self.not_allowed.happened(peer)

    def have_no_room(self) -> None:
        """Count a caller for whom there is no room."""
        self._floor.turned_away += 1
        self.no_room.happened("")

    def failed(self, peer: str, fault: OSError) -> None:
        """No handshake. Who only connected, or went away, is not worth a line: health checks do that."""
        if not isinstance(fault, ssl.SSLError):
            return
        if fault.reason in _HTTP:
            self.plain_http.happened(peer)
            return
        self._detail = (fault.reason or "unknown").lower()
        self.no_handshake.happened(peer)

    def hear_tls(self, peer: str) -> None:
        """A caller began with a TLS handshake: nothing to remark on where there is TLS around it."""
        if self.route.tls_cert is None:
            self.tls_hello.happened(peer)

    def _say_no_room(self, _peer: str, count: int) -> None:
        listen, limit = str(self.route.listen), self._floor.connections_limit
        remedy = "allow more descriptors (ulimit -n) to serve more"
        sentence = f"{listen} turned a caller away: {limit} connections are open; {remedy}"
        named = {"listen": listen, "limit": limit}
        self._floor.log.say(
            Event.CONNECTION_REFUSED, sentence + _times(count), count=count, **named
        )

    def _say_not_allowed(self, peer: str, count: int) -> None:
        remedy = "add its address to `allow` of the route to let it in"
        sentence = (
            f"{self.route.listen} turned away {peer}, which is not in its allow list; {remedy}"
        )
        self._refused(sentence, peer, "not_allowed", count)

    def _say_plain_http(self, peer: str, count: int) -> None:
        remedy = f"put {base_url(self.route)} into the client, with https"
        sentence = f"{self.route.listen} speaks TLS, and {peer} spoke plain HTTP to it; {remedy}"
        self._refused(sentence, peer, "plain_http", count)

    def _say_no_handshake(self, peer: str, count: int) -> None:
        remedy = "check that the client trusts the certificate and uses a name that is in it"
        sentence = f"{self.route.listen} and {peer} agreed on no TLS ({self._detail}); {remedy}"
        self._refused(sentence, peer, "no_handshake", count)

    def _refused(self, sentence: str, peer: str, reason: str, count: int) -> None:
        named = {"listen": str(self.route.listen), "peer": peer}
        said = sentence + _times(count)
        self._floor.log.say(Event.CALLER_REFUSED, said, reason=reason, count=count, **named)

    def _say_tls_hello(self, peer: str, count: int) -> None:
        remedy = f"put {base_url(self.route)} into the client, or give the route a certificate"
        sentence = f"{self.route.listen} is plain HTTP, and {peer} speaks TLS to it; {remedy}"
        named = {"listen": str(self.route.listen), "peer": peer}
        self._floor.log.say(Event.TLS_UNEXPECTED, sentence + _times(count), count=count, **named)


def _times(count: int) -> str:
    return "" if count == 1 else f" ({count} times since it was said last)"
