"""Addresses and origins: what is taken, what is refused and with which advice."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.address import Address, Origin, UnusableError

CLIENT = "http://127.0.0.1:8484"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8484", "127.0.0.1", 8484),
        ("localhost:0", "localhost", 0),
        ("[::1]:8484", "::1", 8484),
        ("[fe80::1%eth0]:65535", "fe80::1%eth0", 65535),
        ("my-box.lan:80", "my-box.lan", 80),
    ],
)
def test_address_is_read_and_written_alike(text: str, host: str, port: int) -> None:
    """An address that is taken prints as it was written."""
    address = Address.parse(text)

    assert address == Address(host, port)
    assert str(address) == text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("8484", "names no host"),
        (":8484", "names no host"),
        ("localhost", "is not an address"),
        ("localhost:", "is not an address"),
        ("", "is not an address"),
        ("::1:8484", "IPv6 stands in brackets"),
        ("[zz]:1", "is not an address"),
        ("[::::]:1", "holds no IPv6 address"),
        ("[1.2.3.4]:1", "holds no IPv6 address"),
        ("http://127.0.0.1:8484", "is a URL, not an address"),
        ("a:65536", "port 65536 is out of range"),
        ("a:\u0663", "is not an address"),
        ("a b:1", "is not an address"),
        ("user:hunter2@a:1", "is not an address"),
    ],
)
def test_address_that_cannot_be_meant_is_refused(text: str, what: str) -> None:
    """The refusal says what is wrong and shows how an address looks; it does not repeat the text."""
    with pytest.raises(UnusableError, match=what) as refused:
        Address.parse(text)

    assert len(refused.value.faults) == 1
    assert "write " in refused.value.faults[0][1]
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "loopback", "wildcard", "client_url"),
    [
        ("127.0.0.1", True, False, "http://127.0.0.1:8484"),
        ("127.8.8.8", True, False, "http://127.8.8.8:8484"),
        ("LocalHost", True, False, "http://LocalHost:8484"),
        ("::1", True, False, "http://[::1]:8484"),
        ("0.0.0.0", False, True, "http://127.0.0.1:8484"),
        ("::", False, True, "http://[::1]:8484"),
        ("10.0.0.5", False, False, "http://10.0.0.5:8484"),
        ("box.lan", False, False, "http://box.lan:8484"),
    ],
)
def test_address_knows_who_reaches_it(host: str, loopback, wildcard, client_url: str) -> None:
    """Loopback is this machine alone; a wildcard is told to clients of this machine as loopback."""
    address = Address(host, 8484)

    assert (address.loopback, address.wildcard) == (loopback, wildcard)
    assert address.client_url == client_url


def test_client_url_of_any_free_port_names_no_port() -> None:
    """Port 0 is nothing to put into a client."""
    assert Address("127.0.0.1", 0).client_url == "http://127.0.0.1:<port>"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("127.0.0.1:1", "127.0.0.1:1", True),
        ("127.0.0.1:1", "127.0.0.1:2", False),
        ("127.0.0.1:0", "127.0.0.1:0", False),
        ("Box:1", "box:1", True),
        ("box:1", "127.0.0.1:1", False),
        ("localhost:1", "127.0.0.1:1", True),
        ("localhost:1", "[::1]:1", True),
        ("localhost:1", "127.0.0.2:1", False),
        ("127.0.0.1:1", "127.0.0.2:1", False),
        ("0.0.0.0:1", "127.0.0.2:1", True),
        ("0.0.0.0:1", "localhost:1", True),
        ("0.0.0.0:1", "[::1]:1", False),
        ("0.0.0.0:1", "[::]:1", False),
        ("0.0.0.0:1", "10.0.0.5:1", False),
        ("[::]:1", "[::1]:1", True),
        ("[0:0:0:0:0:0:0:1]:1", "[::1]:1", True),
    ],
)
def test_overlap_is_told_from_the_text_both_ways(one: str, other: str, same) -> None:
    """Two texts overlap if they are one listener on this machine, whichever is asked."""
    first, second = Address.parse(one), Address.parse(other)

    assert first.overlaps(second) is same
    assert second.overlaps(first) is same


@pytest.mark.parametrize(
    ("text", "origin", "authority"),
    [
        ("http://127.0.0.1:8000", Origin("http", "127.0.0.1", 8000), "127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", Origin("http", "127.0.0.1", 8000), "127.0.0.1:8000"),
        ("HTTPS://Api.Example.com", Origin("https", "api.example.com", 443), "api.example.com"),
        ("https://a:443", Origin("https", "a", 443), "a"),
        ("https://a:80", Origin("https", "a", 80), "a:80"),
        ("http://a:", Origin("http", "a", 80), "a"),
        ("http://[::1]:8000", Origin("http", "::1", 8000), "[::1]:8000"),
        ("http://[::1]", Origin("http", "::1", 80), "[::1]"),
    ],
)
def test_origin_is_read(text: str, origin: Origin, authority: str) -> None:
    """Scheme, host and port; the authority leaves out the scheme's own port, as clients do."""
    read = Origin.parse(text, CLIENT)

    assert read == origin
    assert read.authority == authority
    assert str(read) == f"{origin.scheme}://{authority}"
    assert read.address == Address(origin.host, origin.port)


REFUSED = {
    "localhost:8000": ["has no scheme: write http://localhost:8000 or https://localhost:8000"],
    "//box": ["has no scheme: write http://box or https://box"],
    "ftp://box": ["has the scheme ftp: write http:// or https://"],
    "8000": ["is not a URL"],
    "http:/box": ["is not a URL"],
    "": ["is not a URL"],
    "http://": ["names no host"],
    "http://[::1": ["names no host"],
    "http://[zz]": ["names no host"],
    "http://a,b": ["names no host"],
    "http://b\u00fccher": ["holds characters that no URL holds"],
    "http://a b": ["holds characters that no URL holds"],
    "http://a\n": ["holds characters that no URL holds"],
    "http://a:0": ["port 0 is out of range: write a port from 1 to 65535"],
    "http://a:65536": ["port 65536 is out of range"],
    "http://a?b": ["has a query"],
    "http://a#b": ["has a fragment"],
    "host:1/v1": ["has no scheme", "has the path /v1"],
    "ftp://a:70000/v1?b": ["has the scheme", "port 70000", "has the path", "has a query"],
}


@pytest.mark.parametrize(("text", "faults"), REFUSED.items(), ids=map(ascii, REFUSED))
def test_origin_that_would_not_do_what_is_hoped_is_refused(text: str, faults: list[str]) -> None:
    """Every fault of one URL is named, each with what to write instead."""
    with pytest.raises(UnusableError) as refused:
        Origin.parse(text, CLIENT)

    said = [f"{what}: {remedy}" for what, remedy in refused.value.faults]
    assert len(said) == len(faults)
    for one, start in zip(said, faults, strict=True):
        assert one.startswith(start)


def test_a_path_is_refused_with_the_base_url_that_does_it() -> None:
    """The target is never rewritten, so the path has to be the client's; the sentence says how."""
    with pytest.raises(UnusableError) as refused:
        Origin.parse("https://host/api/v1/", CLIENT)

    assert str(refused.value) == (
        "has the path /api/v1: put http://127.0.0.1:8484/api/v1 into the client as its base URL "
        "and https://host here; the target is never rewritten"
    )


SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"http://user:{SECRET}@host:8000",
        f"http://user:{SECRET}/x@host",
        f"http://user:x/{SECRET}@host/{SECRET}",
        f"user:{SECRET}@host",
        f"http://user:{SECRET}?@host",
        f"http://user:{SECRET}#@host",
        f"http://{SECRET}@",
        f"http://host?key={SECRET}",
        f"http://host/v1?key={SECRET}",
        f"http://host:99999/v1#{SECRET}",
    ],
)
def test_no_refusal_repeats_credentials_or_a_query(text: str) -> None:
    """A secret stays out of the message wherever a URL may hold one."""
    with pytest.raises(UnusableError) as refused:
        Origin.parse(text, CLIENT)

    assert SECRET not in str(refused.value)


@given(
    st.text(max_size=30) | st.from_regex(r"(https?://)?[\[\]@:/?#a%0-9.-]{0,20}", fullmatch=True)
)
@example("http://[::1]]")
@example("http://[v1.a]")
@example("http://a:99999999999999999999")
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes a parser fail in a way of its own, and what is taken reads back as the same."""
    for parse in (Address.parse, lambda t: Origin.parse(t, CLIENT)):
        with contextlib.suppress(UnusableError):
            read = parse(text)

            assert parse(str(read)) == read
