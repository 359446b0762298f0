"""Others' words in a record: as many and as long as a line can bear, and finite."""

from __future__ import annotations

import pytest

from proxy.journal import others
from proxy.wire.exchange import Note
from proxy.wire.head import parse_request_head


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("claude-cli/2.1.197 (external, cli)", "claude-cli/2.1.197"),
        ("AsyncOpenAI/Python 3.57.0", "AsyncOpenAI/Python 3.57.0"),
        ("Mozilla/5.0 (X11; Linux) AppleWebKit/1", "Mozilla/5.0"),
        ("curl", "curl"),
        ("a" * 500, "a" * 64),
        ("\x1b[31m red", None),
        ("(a comment)", None),
        ("", None),
    ],
)
def test_the_client_is_the_first_product(agent, expected):
    """Product and version, in token characters only, and no longer than a name is."""
    assert others.client((("User-Agent", agent),)) == expected


def test_a_caller_without_a_user_agent_has_no_name():
    """Null, not an empty name."""
    assert others.client(()) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [("llama.cpp", "llama.cpp"), ("a\x1b[31mb\n", "a[31mb"), ("x" * 201, "x" * 200), ("\t", None)],
)
def test_a_server_has_the_name_that_it_gives_itself(given, expected):
    """Cut, and without anything that a terminal would act on."""
    assert expected == others.server((("Server", given),))
    assert others.server(()) is None


def test_names_are_cut():
    """A name is 200 characters, a list of calls 256 names; null stays null."""
    assert others.name("x" * 201) == "x" * 200
    assert others.name(None) is None
    assert others.names(["y" * 201] * 257) == ["y" * 200] * 256


FIGURES = {"ms": 12.5, "n": 3, "why": "x" * 900, "big": 2**63, "inf": 1e999, "yes": True}


def test_a_servers_figures_are_kept_under_its_names():
    """What is no number of 64 bits is null, a text is cut, true is 1."""
    expected = {"ms": 12.5, "n": 3, "why": "x" * 200, "big": None, "inf": None, "yes": 1}
    assert others.reported({**FIGURES, "null": None}) == {**expected, "null": None}
    assert type(others.reported({"yes": True})["yes"]) is int


def test_sampling_fields_are_kept_as_sent():
    """A switch stays one; what cannot be kept is left away."""
    assert others.sampling(FIGURES) == {"ms": 12.5, "n": 3, "why": "x" * 200, "yes": True}
    assert others.sampling({"yes": True})["yes"] is True


def test_fields_are_bounded():
    """64 fields, their names as long as names are."""
    many = {f"{n:>300}": n for n in range(65)}
    assert len(others.reported(many)) == 1  # all names are the same 200 spaces
    assert len(others.reported({str(n): n for n in range(65)})) == 64
    assert len(others.sampling({str(n): n for n in range(65)})) == 64


def test_notes_stand_together_once():
    """In order of their sources; the same note twice is one."""
    first = [Note("coding_cut", "reply body", "gzip"), Note("a")]
    second = [Note("a"), Note("b", "", "detail")]
    assert others.notes(first, second) == ["coding_cut: reply body, gzip", "a", "b: detail"]


def test_notes_do_not_make_an_endless_line():
    """Beyond 32 the last one says how many more there were."""
    found = others.notes([Note("odd", f"event {n}") for n in range(100)])
    assert len(found) == 32
    assert found[30:] == ["odd: event 30", "more_notes: 69 more are not kept"]
    assert others.notes([Note("odd", str(n)) for n in range(32)])[31] == "odd: 31"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("POST /v1/chat/completions?key=S", "/v1/chat/completions"),
        ("GET /v1/models#access_token=S", "/v1/models"),
        ("GET /v1/models;key=S", "/v1/models"),
        ("GET /v1/models&key=S", "/v1/models"),
        ("GET /v1/models%3Fkey=S", "/v1/models"),
        ("GET //user:S@host/x", "//host/x"),
        ("GET http://user:S@host/x", "/x"),
        ("CONNECT user:S@host:443", None),
        ("GET user:S@host/x", None),
        ("OPTIONS *", "*"),
        ("GET /v1/models/acme%2Fmini%3A7b-q4%2520x", "/v1/models/acme%2Fmini%3A7b-q4%2520x"),
        ("POST /v1beta/models/x:generateContent", "/v1beta/models/x:generateContent"),
    ],
)
def test_a_path_keeps_no_credential(line: str, kept: str | None):
    """Wherever clients are known to put one."""
    head = parse_request_head(f"{line} HTTP/1.1\r\n\r\n".encode())

    assert head is not None
    assert others.path(head) == kept
