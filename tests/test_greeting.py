"""The line a person acts on when a route begins to listen."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.address import Address, Network, Origin
from proxy.config import Route
from proxy.greeting import base_url, exposure, exposure_reason, greeting
from proxy.log import LONGEST

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


WIDE = Address("0.0.0.0", 8484)
TLS = {"tls_cert": Path("/c.pem"), "tls_key": Path("/k.pem")}
NEAR = tuple(map(Network.parse, ("10.0.0.7", "192.168.1.0/24")))


def test_a_listener_with_tls_is_greeted_as_https() -> None:
    """The base URL says so, here and elsewhere, and which names a client will take."""
    said = greeting(Route(listen=WIDE, **TLS))

    assert base_url(Route(**TLS)) == "https://127.0.0.1:8484/v1"
    assert said.startswith(
        "https://127.0.0.1:8484 -> http://127.0.0.1:8000   put https://127.0.0.1"
    )
    assert "https://<this machine's address>:8484/v1" in said
    assert "in the certificate" in said


@pytest.mark.parametrize(
    ("changes", "reason", "remedies"),
    [
        (
            {},
            (
                "whoever reaches it can use the upstream through it, and it asks nobody for a password; "
                "keys, prompts and answers cross the network in the clear"
            ),
            {"allow", "tls_cert"},
        ),
        (
            {"allow": NEAR},
            (
                "whoever sends from 10.0.0.7, 192.168.1.0/24 can use the upstream through it, and it asks "
                "nobody for a password; keys, prompts and answers cross the network in the clear"
            ),
            {"tls_cert"},
        ),
        (
            TLS,
            "whoever reaches it can use the upstream through it, and it asks nobody for a password",
            {"allow"},
        ),
        (
            {**TLS, "allow": NEAR * 20},
            (
                "whoever sends from the 40 networks of its allow list can use the upstream through it, "
                "and it asks nobody for a password"
            ),
            set(),
        ),
    ],
    ids=["neither", "allow", "tls", "both"],
)
def test_the_risk_is_what_is_left_of_it(changes, reason: str, remedies: set[str]) -> None:
    """An allow-list and TLS take their part of the risk away; a password nobody is ever asked for."""
    route = Route(listen=WIDE, **changes)
    said = exposure(route) or ""

    assert exposure_reason(route) == reason
    assert len(reason) < LONGEST, "JSON would cut it"
    assert reason in said
    assert {word for word in ("allow", "tls_cert") if f"`{word}`" in said} == remedies


def test_loopback_has_no_reason() -> None:
    """Whatever else the route has."""
    assert exposure_reason(Route(**TLS)) is None
