"""Files and flags: what is taken, and that everything wrong is named at once, with its remedy."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proxy.address import Address, Origin
from proxy.config import Config, Flags, Route
from proxy.configfile import load
from tests.support.refusal import faults, written

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def write(tmp_path) -> Callable[[str | bytes], Path]:
    """A function that puts a text into a config and gives its path."""
    return partial(written, tmp_path)


def test_nothing_gives_the_defaults(write) -> None:
    """No file, an empty file and empty tables are the same."""
    assert load() == Config()
    assert load(write("")) == Config()
    assert load(write("route = []")) == Config()
    assert load(write("[[route]]\n[journal]\n[console]")) == Config()


def test_every_key_is_taken(write) -> None:
    """A full file is read into the types that the rest of the program uses."""
    config = load(
        write("""
            [[route]]
            listen = "0.0.0.0:9000"
            upstream = "https://api.example.com"
            label = "far"
            host = "keep"
            connect_timeout_s = 2
            read_timeout_s = 0.5
            [[route]]
            listen = "[::1]:9001"
            [journal]
            dir = "/tmp/j"
            [recorder]
            nice = 0
            queue_bytes = 65536
            retain_bytes = 100000
            [relay]
            grace_s = 0
            drain_s = 1.5
            [console]
            quiet = true
            format = "json"
        """)
    )

    far = Route(
        listen=Address("0.0.0.0", 9000),
        upstream=Origin("https", "api.example.com", 443),
        label="far",
        host="keep",
        connect_timeout_s=2.0,
        read_timeout_s=0.5,
    )
    assert config.route == (far, Route(listen=Address("::1", 9001)))
    assert config.journal.dir == Path("/tmp/j")
    assert (config.recorder.nice, config.recorder.queue_bytes) == (0, 65536)
    assert config.recorder.retain_bytes == 100000
    assert (config.relay.grace_s, config.relay.drain_s) == (0.0, 1.5)
    assert (config.console.quiet, config.console.format) == (True, "json")


def test_home_is_expanded(write, monkeypatch) -> None:
    """A leading ~ is the home, from the file and from the flag."""
    monkeypatch.setenv("HOME", "/home/me")

    assert load(write('[journal]\ndir = "~/j"')).journal.dir == Path("/home/me/j")
    assert load(None, Flags(journal="~/k")).journal.dir == Path("/home/me/k")


def test_a_byte_order_mark_and_crlf_do_no_harm(write) -> None:
    """Files from Windows editors load."""
    assert load(write(b"\xef\xbb\xbf[console]\r\nquiet = true\r\n")).console.quiet


def test_flags_win_and_leave_the_rest(write) -> None:
    """A flag replaces its key and no other."""
    file = write('[[route]]\nhost = "keep"\nlabel = "a"\n[console]\nformat = "json"\nquiet = false')
    flags = Flags(listen="127.0.0.1:1", upstream="http://b", label="c", journal="/j", quiet=True)

    config = load(file, flags)

    (route,) = config.route
    assert route == Route(
        listen=Address("127.0.0.1", 1), upstream=Origin("http", "b", 80), label="c", host="keep"
    )
    assert config.journal.dir == Path("/j")
    assert (config.console.quiet, config.console.format) == (True, "json")


def test_a_flag_heals_the_key_it_replaces(write) -> None:
    """What a flag replaces is not looked at."""
    file = write('[[route]]\nupstream = "nonsense"')

    assert load(file, Flags(upstream="http://b")).route[0].upstream == Origin("http", "b", 80)


def test_faults_of_flags_are_named_as_flags() -> None:
    """The operator sees what was typed, not the key behind it."""
    flags = Flags(listen="x", upstream="h:1", label="a\tb", journal=" ")

    assert [fault.partition(":")[0] for fault in faults(None, flags)] == [
        "--journal",
        "--listen",
        "--upstream",
        "--label",
    ]


def test_route_flags_with_several_routes_are_refused(write) -> None:
    """They could mean any of them; other flags still work and other faults are still named."""
    assert load(write('[[route]]\nlisten="a:1"\n[[route]]\nlisten="a:2"'), Flags(quiet=True))
    file = write('[[route]]\nlisten="a:1"\n[[route]]\nlisten="a:2"\nnice=1')
    assert faults(file, Flags(upstream="http://b", label="x")) == [
        "--upstream: could mean any of the 2 routes in the file; change it in the file",
        "--label: could mean any of the 2 routes in the file; change it in the file",
        "route[1].nice: is not a key; it belongs below [recorder]",
    ]


def test_all_faults_are_named_at_once(write) -> None:
    """One refusal holds every fault of a file, each with key, what is wrong and what to do."""
    file = write("""
        quiet = true
        relay = 3
        [[route]]
        listen = "127.0.0.1:99999"
        upstream = "https://host/api/v1"
        [[route]]
        listen = "127.0.0.1:9001"
        upstream = 8000
        lable = "x"
        connect_timeout_s = -3
        read_timeout_s = "1"
        host = "both"
        [recorder]
        nice = 20
        queue_bytes = 1.5
        retain_bytes = 1
        [consol]
    """)

    assert faults(file) == [
        "quiet: is not a key; it belongs below [console]",
        "relay: is an integer, not a table; write [relay], then its keys",
        "route[0].listen: port 99999 is out of range; write a port from 0 to 65535",
        (
            "route[0].upstream: has the path /api/v1; put http://127.0.0.1:8484/api/v1 into the client"
            " as its base URL and https://host here; the target is never rewritten"
        ),
        "route[1].upstream: is an integer; write a string, in quotes",
        "route[1].lable: is not a key; did you mean label?",
        "route[1].connect_timeout_s: cannot be -3; write seconds, above 0, at most 86400",
        "route[1].read_timeout_s: cannot be a string; write seconds, above 0, at most 86400",
        'route[1].host: cannot be that; write "upstream" or "keep"',
        "recorder.nice: cannot be 20; write a whole number from 0 to 19",
        "recorder.queue_bytes: cannot be a float; write bytes, a whole number from 65536",
        "recorder.retain_bytes: cannot be 1; write bytes, a whole number from 65536",
        "consol: is not a key; did you mean console?",
    ]


def test_advice_on_a_path_names_the_routes_own_address(write) -> None:
    """The base URL in the advice is where this very route listens."""
    (fault,) = faults(write('[[route]]\nupstream = "http://h/v1"\nlisten = "0.0.0.0:9000"'))

    assert "put http://127.0.0.1:9000/v1 into the client" in fault


def test_two_routes_cannot_share_an_address(write) -> None:
    """The later of the two is named, and the one that has the address."""
    file = write("[[route]]\n[[route]]\nlisten = 'localhost:8484'\n[[route]]\nlisten = 'a:0'")

    assert faults(file) == [
        (
            "route[1].listen: localhost:8484 is taken by route[0] (127.0.0.1:8484); "
            "give each route a port of its own"
        )
    ]


def test_an_upstream_cannot_be_one_of_our_own_listeners(write) -> None:
    """Neither a route's own address nor another's: requests would go round."""
    file = write("""
        [[route]]
        upstream = "http://localhost:9000"
        [[route]]
        listen = "0.0.0.0:9000"
        upstream = "http://127.0.0.1:8484"
    """)

    assert faults(file) == [
        (
            "route[0].upstream: http://localhost:9000 is where route[1] itself listens; "
            "write the inference server's own address"
        ),
        (
            "route[1].upstream: http://127.0.0.1:8484 is where route[0] itself listens; "
            "write the inference server's own address"
        ),
    ]
    assert faults(None, Flags(listen="127.0.0.1:8000"))[0].startswith("route[0].upstream: http")
