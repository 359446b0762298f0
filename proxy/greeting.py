"""What is said when a route begins to listen: where to point the client, and who else can reach it.

Pure text. One rule: each line can be acted on as it stands, with no page opened beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .address import Address

if TYPE_CHECKING:
    from .config import Route


def greeting(route: Route) -> str:
    """One line: what leads where and what to put into the client, on this machine and elsewhere.

    A port of 0 is shown as `<port>`: give it the route with the port it got, once it has one.
    """
    listen = route.listen
    name = f"{route.label}  " if route.label else ""
    where = f"{name}{listen.client_url} -> {route.upstream}"
    here = f"put {listen.client_url}/v1 into the client as its base URL"
    there = f"http://<this machine's address>:{listen.port or '<port>'}/v1"
    if listen.wildcard:
        return f"{where}   {here}; from another machine or a container: {there}"
    if listen.loopback:
        wide = Address("::" if ":" in listen.host else "0.0.0.0", listen.port)
        step = f"start with --listen {wide}, then {there}"
        return f"{where}   {here}; from another machine or a container: {step}"
    return f"{where}   {here}, on this machine, another or in a container"


def exposure(route: Route) -> str | None:
    """The risk in a sentence where others than this machine can reach the route; None elsewhere."""
    if route.listen.loopback:
        return None
    return (
        f"{route.listen} can be reached from other machines: whoever reaches it can use "
        f"{route.upstream} through it, and the proxy asks nobody for a password"
    )
