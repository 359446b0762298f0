"""Every way to get a config wrong, one at a time, and any file at all."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.config import Config, ConfigError
from proxy.configfile import load
from tests.support.refusal import faults, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def write(tmp_path) -> Callable[[str | bytes], Path]:
    """A function that puts a text into a config and gives its path."""
    return partial(written, tmp_path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[route]", "route: is a table, not a list of tables; write [[route]]"),
        ("route = 'a'", "route: is a string, not a list of tables; write [[route]]"),
        ("route = [1]", "route: is an array, not a list of tables; write [[route]]"),
        ("[[journal]]", "journal: is an array, not a table; write [journal], then its keys"),
        ("journal = 2026-01-01", "journal: is a date or time, not a table"),
        ("[journal]\ndir = ''", "journal.dir: is empty; write the path of a folder"),
        ("[journal]\ndir = '~nobody-at-all/x'", "journal.dir: starts with a ~ that stands for no"),
        ("[journal]\ndir = false", "journal.dir: is a boolean; write a string, in quotes"),
        ("[console]\nquiet = 1", "console.quiet: cannot be an integer; write true or false"),
        ("[console]\nformat = 'xml'", 'console.format: cannot be that; write "auto", "text" or'),
        ("[relay]\ngrace_s = -1", "relay.grace_s: cannot be -1; write seconds, from 0 to 86400"),
        ("[relay]\ngrace_s = nan", "relay.grace_s: cannot be nan"),
        ("[relay]\ngrace_s = inf", "relay.grace_s: cannot be inf"),
        ("[relay]\ngrace_s = true", "relay.grace_s: cannot be a boolean"),
        ("[recorder]\nnice = 0x" + "f" * 9000, "recorder.nice: cannot be that"),
        ("[[route]]\nconnect_timeout_s = 0", "route[0].connect_timeout_s: cannot be 0"),
        ("[[route]]\nlabel = '" + "x" * 65 + "'", "route[0].label: cannot be that; write a text"),
        ('[[route]]\nlabel = "a\\nb"', "route[0].label: cannot be that; write a text"),
        ("[relay]\nzzz = 1", "relay.zzz: is not a key; known here: drain_s, grace_s"),
        ('"a\\u001b" = 1', "'a\\x1b': is not a key; known here:"),
        ("[routes]", "routes: is not a key; did you mean route?"),
        ("upstream = 'http://a'", "upstream: is not a key; it belongs below [[route]]"),
    ],
)
def test_one_fault_has_one_line(write, text: str, fault: str) -> None:
    """Each kind of fault, alone in a file: its key, what is wrong, what to do."""
    (said,) = faults(write(text))

    assert said.startswith(fault)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"[console\n", "line 1, column 9: "),
        (b"\n\nquiet = yes\n", "line 3, column 9: "),
        (b"[console]\n[console]\n", "line 2, column 9: "),
        (b"a = ", "Invalid value"),
        (b"\n\nlabel = '\xff'\n", "line 3 is not UTF-8; save the file as UTF-8"),
        (b"a = " + b"9" * 5000, "is not TOML: "),
        (b"a = " + b"[" * 20_000, "is not TOML: "),
    ],
)
def test_a_file_that_is_no_toml_is_refused_with_the_place(write, data: bytes, what: str) -> None:
    """The file is the key, and line and column say where."""
    file = write(data)
    (said,) = faults(file)

    assert said.startswith(f"{file}: ")
    assert what in said


def test_a_file_that_cannot_be_read_is_refused(tmp_path) -> None:
    """Missing, a folder: the system's word and what to do."""
    (missing,) = faults(tmp_path / "none.toml")
    (folder,) = faults(tmp_path)

    assert missing == (
        f"{tmp_path / 'none.toml'}: cannot be read (No such file or directory); "
        "name another with --config, or start without one"
    )
    assert "cannot be read (Is a directory)" in folder


SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"[[route]]\nupstream = 'http://u:{SECRET}@h/p'",
        f"[[route]]\nupstream = 'http://h?{SECRET}'",
        f"[[route]]\nlisten = 'u:{SECRET}@h:1'",
        f"[[route]]\nhost = '{SECRET}'",
        f"[[route]]\nlabel = '{SECRET * 20}'",
        f"[[route]]\napi_key = '{SECRET}'",
        f"[recorder]\nnice = '{SECRET}'",
        f"[console]\nformat = '{SECRET}'",
        f"journal = '{SECRET}'",
        f"key = {SECRET}",
        f"key = '{SECRET}",
        f"key = '''{SECRET}",
        f"'{SECRET}' 3",
    ],
)
def test_no_refusal_repeats_a_value(write, text: str) -> None:
    """Whatever is wrong, a value that might be a secret is not printed."""
    assert SECRET not in "\n".join(faults(write(text)))


KEYS = st.sampled_from(["route", "listen", "upstream", "host", "nice", "dir", "grace_s", "x"])
TEXTS = st.text(max_size=5) | st.sampled_from(
    ["a:1", "[::]:0", "http://a", "http://a/b", "~", "~a"]
)
VALUES = st.recursive(
    st.none() | TEXTS.map(repr) | st.integers().map(str) | st.floats().map(str) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda v: f"[{', '.join(map(str, v))}]")
        | st.dictionaries(KEYS, inner, max_size=3).map(
            lambda d: "{" + ", ".join(f"{k} = {v}" for k, v in d.items()) + "}"
        )
    ),
    max_leaves=8,
)
LINES = st.one_of(
    st.sampled_from(["[[route]]", "[journal]", "[recorder]", "[relay]", "[console]", "[x]"]),
    st.tuples(KEYS, VALUES).map(lambda kv: f"{kv[0]} = {kv[1]}"),
    st.text(max_size=10),
)


@given(st.lists(LINES, max_size=8).map("\n".join).map(lambda t: t.encode("utf-8", "surrogatepass")))
@example(b"[[route]]\nlisten = {}")
def test_any_file_is_taken_or_refused(tmp_path_factory, data: bytes) -> None:
    """No file makes the reading fail in a way of its own."""
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(data)
    with contextlib.suppress(ConfigError):
        assert isinstance(load(file), Config)
