"""The line a person acts on when a route begins to listen."""

from __future__ import annotations

import pytest

from proxy.address import Address, Origin
from proxy.config import Route
from proxy.greeting import exposure, greeting

HERE = "put http://127.0.0.1:8484/v1 into the client as its base URL"
THERE = "http://<this machine's address>:8484/v1"


def test_greeting_on_loopback_says_how_others_get_in() -> None:
    """On loopback: what to put into the client here, and how to start for other machines."""
    assert greeting(Route(label="home")) == (
        f"home  http://127.0.0.1:8484 -> http://127.0.0.1:8000   {HERE}; from another machine or a "
        f"container: start with --listen 0.0.0.0:8484, then {THERE}"
    )


def test_greeting_on_a_wildcard_says_where_others_get_in() -> None:
    """On all addresses: the loopback one for here, this machine's own for others; no label, no gap."""
    route = Route(listen=Address("0.0.0.0", 8484), upstream=Origin("https", "host", 443))

    assert greeting(route) == (
        f"http://127.0.0.1:8484 -> https://host   {HERE}; from another machine or a container: "
        f"{THERE}"
    )


def test_greeting_on_one_outer_address_is_the_same_for_all() -> None:
    """On one address of the network, everybody uses that one."""
    said = greeting(Route(listen=Address("10.0.0.5", 8484)))

    assert "put http://10.0.0.5:8484/v1 into the client" in said
    assert "--listen" not in said


def test_greeting_keeps_to_ipv6() -> None:
    """A route on ::1 is opened by listening on ::."""
    said = greeting(Route(listen=Address("::1", 8484)))

    assert "put http://[::1]:8484/v1" in said
    assert "--listen [::]:8484" in said


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_is_no_exposure(host: str) -> None:
    """Nothing is to be warned of where only this machine gets in."""
    assert exposure(Route(listen=Address(host, 1))) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "box.lan"])
def test_beyond_loopback_the_risk_is_one_sentence(host: str) -> None:
    """The warning names the address, the server behind it and what is missing."""
    said = exposure(Route(listen=Address(host, 1))) or ""

    assert said.startswith(str(Address(host, 1)))
    assert "http://127.0.0.1:8000" in said
    assert "password" in said
