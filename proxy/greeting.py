"""What is said when a route begins to listen: where to point the client, and who else can reach it.

Pure text. One rule: each line can be acted on as it stands, with no page opened beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .address import Address

if TYPE_CHECKING:
    from .config import Route

_MOST_NAMED: Final = 3
"""Entries of an allow-list that are named; of a longer one their number is said."""


def base_url(route: Route) -> str:
    """What goes into a client on this machine as its base URL. A port of 0 is shown as `<port>`."""
    return f"{_url(route)}/v1"


def greeting(route: Route) -> str:
    """One line: what leads where and what to put into the client, on this machine and elsewhere.

    A port of 0 is shown as `<port>`: give it the route with the port it got, once it has one.
    """
    listen = route.listen
    name = f"{route.label}  " if route.label else ""
    where = f"{name}{_url(route)} -> {route.upstream}"
    here = f"put {base_url(route)} into the client as its base URL"
    if route.tls_cert is not None:
        here += " (its name must be one that is in the certificate)"
    there = f"{_scheme(route)}://<this machine's address>:{listen.port or '<port>'}/v1"
    if listen.wildcard:
        return f"{where}   {here}; from another machine or a container: {there}"
    if listen.loopback:
        wide = Address("::" if ":" in listen.host else "0.0.0.0", listen.port)
        step = f"start with --listen {wide}, then {there}"
        return f"{where}   {here}; from another machine or a container: {step}"
    return f"{where}   {here}, on this machine, another or in a container"


def exposure(route: Route) -> str | None:
    """The risk in a sentence where others than this machine can reach the route; None elsewhere."""
    reason = exposure_reason(route)
    if reason is None:
        return None
    remedies = []
    if route.allow is None:
        remedies.append("`allow` in its [[route]] limits who gets in")
    if route.tls_cert is None:
        remedies.append("`tls_cert` and `tls_key` encrypt")
    remedy = f"; {', '.join(remedies)}" if remedies else ""
    known = f"{route.listen} can be reached from other machines and leads to {route.upstream}"
    return f"{known}: {reason}{remedy}"


def exposure_reason(route: Route) -> str | None:
    """What is at risk there, whichever route it is; None where only this machine can reach it.

    Below 200 characters, so that it is said whole in JSON.
    """
    if route.listen.loopback:
        return None
    who = "whoever reaches it" if route.allow is None else f"whoever sends from {_allowed(route)}"
    said = f"{who} can use the upstream through it, and it asks nobody for a password"
    clear = "; keys, prompts and answers cross the network in the clear"
    return said if route.tls_cert is not None else said + clear


def exposure_of_status(listen: Address) -> str | None:
    """What is at risk where others than this machine can reach the status pages; None elsewhere."""
    if listen.loopback:
        return None
    reads = (
        "whoever reaches the status pages can read how this proxy is used and where its routes lead"
    )
    return f"{reads}; they ask nobody for a password"


def _allowed(route: Route) -> str:
    allow = route.allow or ()
    named = ", ".join(map(str, allow))
    few = len(allow) <= _MOST_NAMED and len(named) <= 60
    return named if few else f"the {len(allow)} networks of its allow list"


def _scheme(route: Route) -> str:
    return "http" if route.tls_cert is None else "https"


def _url(route: Route) -> str:
    return _scheme(route) + route.listen.client_url.removeprefix("http")
