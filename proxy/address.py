"""Where to listen and where to go: `host:port` and the origin of a URL, read strictly.

One rule: a value that cannot mean what its writer hopes is refused with what is wrong and what to
write instead, all of it at once, and no refusal repeats credentials or a query.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from urllib.parse import SplitResult

    _Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<name>[0-9A-Za-z._-]+))(?::(?P<port>[0-9]{1,9})?)?",
    re.ASCII,
)
_MAX_PORT: Final = 65535
_WRITE_LISTEN: Final = "write host:port, such as 127.0.0.1:8484, 0.0.0.0:8484 or [::1]:8484"
_WRITE_ORIGIN: Final = "write scheme, host and port, such as http://127.0.0.1:8000"
_WRITE_NETWORK: Final = (
    "write an address or a network, such as 10.0.0.7, 192.168.1.0/24 or fd00::/8"
)
_NO_NETWORK: Final = (
    "holds something that is no IP address and no network (names are not looked up)"
)
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_NO_HOST: Final = ("names no host that can be read", _WRITE_ORIGIN)
_CREDENTIALS: Final = (
    "has an @ in it: credentials there would be dropped",
    "leave them out; the client's own headers are passed on as they are",
)


class UnusableError(ValueError):
    """A value that is refused: one pair (what is wrong, what to do) for each thing wrong with it."""

    def __init__(self, *faults: tuple[str, str]) -> None:
        super().__init__("; ".join(f"{what}: {remedy}" for what, remedy in faults))
        self.faults: Final = faults


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port, as in `127.0.0.1:8484` or `[::1]:8484`."""

    host: str
    """A name or an IP address, IPv6 without its brackets."""
    port: int
    """0, where one listens: any free port."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `host:port`. Raises UnusableError."""
        found = _AUTHORITY.fullmatch(text)
        if found is None or not found["port"]:
            raise UnusableError((_not_an_address(text), _WRITE_LISTEN))
        port = int(found["port"])
        if port > _MAX_PORT:
            raise UnusableError((f"port {port} is out of range", "write a port from 0 to 65535"))
        if not _brackets_hold_ipv6(found):
            raise UnusableError(("holds no IPv6 address in its brackets", _WRITE_LISTEN))
        return cls(found["v6"] or found["name"], port)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it. A name other than localhost counts as more."""
        address = _ip(self.host)
        return self.host.lower() == "localhost" if address is None else address.is_loopback

    @property
    def client_url(self) -> str:
        """Where a client on this machine reaches a listener: a base URL without a path."""
        near = ("::1" if ":" in self.host else "127.0.0.1") if self.wildcard else self.host
        bracketed = f"[{near}]" if ":" in near else near
        return f"http://{bracketed}:{self.port or '<port>'}"

    @property
    def wildcard(self) -> bool:
        """Whether it stands for every address of this machine."""
        address = _ip(self.host)
        return address is not None and address.is_unspecified

    def overlaps(self, other: Address) -> bool:
        """Whether the two texts mean one listener: equal, or one covers the other.

        Text only: names other than localhost are not resolved. Port 0 overlaps with nothing.
        """
        if self.port != other.port or self.port == 0:
            return False
        if self.host.lower() == other.host.lower():
            return True
        pairs = itertools.product(_ips(self.host), _ips(other.host))
        return any(one == two or _covers(one, two) or _covers(two, one) for one, two in pairs)


@dataclass(frozen=True, slots=True)
class Network:
    """One address, or all that begin alike: `10.0.0.7`, `192.168.1.0/24`, `fd00::/8`."""

    text: str
    """`192.168.1.0/24`; of one address that address alone. IPv4 that was written as IPv6 (RFC 4291 section
    2.5.5.2) stands here as IPv4."""

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address or a network. Raises UnusableError."""
        try:
            wide = ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise UnusableError((_NO_NETWORK, _WRITE_NETWORK)) from None
        if _ip(text.partition("/")[0]) != wide.network_address:
            what = f"{text} is one address with the size of a network"
            raise UnusableError((what, f"write {wide} for the network, or the address alone"))
        block = _unmapped(wide)
        alone = block.prefixlen == block.max_prefixlen
        return cls(str(block.network_address if alone else block))

    def holds(self, host: str) -> bool:
        """Whether a peer's address, as the system gives it, lies in it."""
        address = _ip(host)
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped  # a caller over IPv4 at a socket that takes both
        return address is not None and address in ipaddress.ip_network(self.text)


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of an upstream (RFC 6454 section 4)."""

    scheme: str
    """`http` or `https`."""
    host: str
    """In lower case; IPv6 without its brackets."""
    port: int
    """Always a number: the scheme's own where the URL names none."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def address(self) -> Address:
        """Where to connect to."""
        return Address(self.host, self.port)

    @property
    def authority(self) -> str:
        """The value for `Host` (RFC 9110 section 7.2): without the port if it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str, client_url: str) -> Self:
        """Read an upstream's URL. `client_url` is where clients reach us, for the advice on paths.

        Raises UnusableError with everything that is wrong.
        """
        if (
            "@" in text
        ):  # first and alone: where the password ends cannot be told, so no echo at all
            raise UnusableError(_CREDENTIALS)
        if re.search(r"[^!-~]", text):
            raise UnusableError(("holds characters that no URL holds", _WRITE_ORIGIN))
        url = _split(text)
        found = _AUTHORITY.fullmatch(url.netloc)
        faults = [*_scheme_faults(url, found), *_authority_faults(found)]
        faults += _rest_faults(url, client_url, "the URL without it" if faults else _origin(url))
        if faults or found is None:
            raise UnusableError(*faults)
        port = int(found["port"] or DEFAULT_PORTS[url.scheme])
        return cls(url.scheme, (found["v6"] or found["name"]).lower(), port)


def _split(text: str) -> SplitResult:
    """The URL's parts; a scheme that is plainly only missing is left empty, the rest read anyway."""
    bare = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is None
    if bare and re.match(r"https?:|[0-9]*$", text, re.IGNORECASE):
        raise UnusableError(("is not a URL", _WRITE_ORIGIN))
    try:
        return urlsplit(f"//{text.lstrip('/')}" if bare else text)
    except ValueError:  # brackets that do not pair or hold no address
        raise UnusableError(_NO_HOST) from None


def _origin(url: SplitResult) -> str:
    return f"{url.scheme}://{url.netloc}"


def _ips(host: str) -> list[_Ip]:
    """What a host means without asking anyone: an address, both of localhost's, or nothing."""
    texts = ["127.0.0.1", "::1"] if host.lower() == "localhost" else [host]
    return [address for text in texts if (address := _ip(text)) is not None]


def _covers(wide: _Ip, near: _Ip) -> bool:
    """Whether a listener on `wide` gets what is sent to this machine's `near`."""
    return wide.is_unspecified and near.is_loopback and wide.version == near.version


def _ip(host: str) -> _Ip | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _unmapped(
    block: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    if isinstance(block, ipaddress.IPv4Network) or not block.subnet_of(_MAPPED):
        return block
    low = int(block.network_address) & 0xFFFF_FFFF
    return ipaddress.IPv4Network((low, block.prefixlen - 96))


def _brackets_hold_ipv6(found: re.Match[str]) -> bool:
    return found["v6"] is None or isinstance(_ip(found["v6"]), ipaddress.IPv6Address)


def _not_an_address(text: str) -> str:
    if "://" in text:
        return "is a URL, not an address"
    if re.fullmatch(r":?[0-9]+", text):
        return "names no host"
    if text.count(":") > 1:
        return "is not an address (IPv6 stands in brackets)"
    return "is not an address"


def _scheme_faults(url: SplitResult, found: re.Match[str] | None) -> Iterator[tuple[str, str]]:
    if not url.scheme and found is None:  # `name:password` would be no host either: not repeated
        yield "has no scheme", "write http:// or https:// in front"
    elif not url.scheme:
        yield "has no scheme", f"write http://{url.netloc} or https://{url.netloc}"
    elif url.scheme not in DEFAULT_PORTS:
        yield f"has the scheme {url.scheme}", "write http:// or https://"


def _authority_faults(found: re.Match[str] | None) -> Iterator[tuple[str, str]]:
    if found is None or not _brackets_hold_ipv6(found):
        yield _NO_HOST
    elif found["port"] and not 0 < int(found["port"]) <= _MAX_PORT:
        yield f"port {found['port']} is out of range", "write a port from 1 to 65535"


def _rest_faults(url: SplitResult, client_url: str, here: str) -> Iterator[tuple[str, str]]:
    if path := url.path.rstrip("/"):
        base = f"put {client_url}{path} into the client as its base URL and {here} here"
        yield f"has the path {path}", f"{base}; the target is never rewritten"
    if url.query or url.fragment:
        part = "query" if url.query else "fragment"
        yield f"has a {part}", "leave it out: what the client sends is passed on as it is"
