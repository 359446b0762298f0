"""Config files of every shape: what is taken can be written and read again, what is refused names a key.

One rule: each value of a file that might be a secret is one that can be told from all else, so that a
refusal which repeats it is seen.
"""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.address import Address, Origin, UnusableError
from proxy.config import Config, ConfigError, Flags, Route
from proxy.configfile import load
from tests.support.damage import damaged, examples

unhurried = examples(0.7)
SEEDS = st.integers(0, 2**32)
SECRET = "hUnTeR2sEcReT"

TABLES = {f.name: f.type for f in msgspec.structs.fields(Config) if f.name != "route"}
KEYS = {"route": Route.__struct_fields__} | {n: t.__struct_fields__ for n, t in TABLES.items()}

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=64)
PORTS = st.integers(1, 65535)
HOSTS = st.sampled_from(["127.0.0.1", "localhost", "0.0.0.0", "::1", "::", "fe80::1%eth0", "h-1.test", "A_b"])  # fmt: skip
SECONDS = st.floats(0.001, 86_400) | st.integers(1, 86_400)
PATHS = st.from_regex(r"/[a-z /.\u00e9]{0,20}", fullmatch=True)

ROUTES = st.fixed_dictionaries(
    {},
    optional={
        "listen": st.builds(lambda host, port: str(Address(host, port)), HOSTS, PORTS),
        "upstream": st.builds(
            lambda scheme, host, port: f"{scheme}://{Address(host, port)}",
            st.sampled_from(["http", "https"]),
            HOSTS.filter(lambda host: "%" not in host),
            PORTS,
        ),
        "label": WORDS,
        "host": st.sampled_from(["upstream", "keep"]),
        "connect_timeout_s": SECONDS,
        "read_timeout_s": SECONDS,
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "route": st.lists(ROUTES, min_size=1, max_size=3),
        "journal": st.fixed_dictionaries({}, optional={"dir": PATHS}),
        "recorder": st.fixed_dictionaries(
            {},
            optional={
                "nice": st.integers(0, 19),
                "queue_bytes": st.integers(65_536, 2**40),
                "retain_bytes": st.integers(65_536, 2**40),
            },
        ),
        "relay": st.fixed_dictionaries({}, optional={"grace_s": SECONDS, "drain_s": SECONDS}),
        "console": st.fixed_dictionaries(
            {},
            optional={
                "quiet": st.booleans(),
                "format": st.sampled_from(["auto", "text", "json"]),
            },
        ),
        "tokenizer": st.fixed_dictionaries(
            {},
            optional={"server": st.sampled_from(["private", "any", "off"]), "file": PATHS},
        ),
    },
)


def toml(value):
    """A value in TOML; tables in line, which may stand wherever a value may."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
    return repr(value).lower() if isinstance(value, bool) else repr(value)


def document(value):
    """A file's text."""
    return "".join(f"{toml(key)} = {toml(inner)}\n" for key, inner in value.items())


def written(config):
    """A config as a document, every key of it."""

    def plain(value):
        if isinstance(value, msgspec.Struct):
            fields = msgspec.structs.asdict(value).items()
            return {k: plain(v) for k, v in fields if v is not None}
        if isinstance(value, tuple):
            return [plain(item) for item in value]
        return value if isinstance(value, str | int | float) else str(value)

    return document(plain(config))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Where a config is put."""
    return tmp_path_factory.mktemp("config") / "any.toml"


def read(file, data):
    """A config, or the refusal."""
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    try:
        return load(file)
    except ConfigError as refused:
        return refused


def check(file, found):
    """What holds for every file."""
    if isinstance(found, Config):
        assert read(file, written(found)) == found
        return
    assert found.faults
    for fault in found.faults:
        assert all((fault.key, fault.what, fault.remedy))
        assert str(fault).isprintable()
        assert len(str(fault)) < 1000


@unhurried
@given(DOCUMENTS)
def test_what_is_said_is_what_is_taken(file, said):
    """Each key has the value that was written; what clashes are routes, and nothing else."""
    found = read(file, document(said))
    check(file, found)
    if isinstance(found, ConfigError):
        assert all(re.fullmatch(r"route\[\d\]\.(listen|upstream)", f.key) for f in found.faults)
        return
    for name, table in said.items():
        taken = list(getattr(found, name)) if name == "route" else [getattr(found, name)]
        for one, wanted in zip(taken, table if name == "route" else [table], strict=True):
            for key, value in wanted.items():
                was = getattr(one, key)
                assert key in ("upstream", "listen", "dir", "file") or was == value


TEXTS = [
    "", "~", f"http://u:{SECRET}@h", f"http://h?k={SECRET}", f"http://h#{SECRET}",
    f"{SECRET}:{SECRET}", f"admin:{SECRET}", f"u:{SECRET}@h:80", f"[{SECRET}]:80", SECRET * 9 + "\n",
    f"h:80{SECRET}", f"http://h:{SECRET}", f"http://[{SECRET}]", f"//{SECRET}@h", f"http:{SECRET}",
    f"a\n{SECRET}", f"~{SECRET}/x", f"http://h:1:{SECRET}", f"http://:{SECRET}"
]  # fmt: skip
"""None is a host, a label or a path: what may be one is no secret, and a refusal may repeat it."""

ODD = st.recursive(
    st.sampled_from(TEXTS)
    | st.integers() | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@unhurried
@given(DOCUMENTS, st.sampled_from(sorted(KEYS)), SEEDS, ODD)
def test_a_refusal_names_the_key_and_never_the_value(file, said, table, which, odd):
    """One value of any kind in any key's place: taken and written again, or refused under that key."""
    key = KEYS[table][which % len(KEYS[table])]
    holder = said.setdefault(table, [{}] if table == "route" else {})
    (holder[0] if table == "route" else holder)[key] = odd
    found = read(file, document(said))
    check(file, found)
    if isinstance(found, ConfigError):
        assert SECRET.lower() not in str(found).lower()
        place = f"route[0].{key}" if table == "route" else f"{table}.{key}"
        beside = re.compile(r".*\.(listen|upstream|tls_cert|tls_key)")
        assert all(f.key == place or beside.fullmatch(f.key) for f in found.faults)


@pytest.mark.parametrize("table", sorted(KEYS))
def test_no_refusal_of_any_key_repeats_a_secret(file, table):
    """Every text in which one may stand, at every key: alone, in a list, in a table."""
    for key in KEYS[table]:
        for text in TEXTS:
            for value in (text, [text], {"a": text}):
                holder = {key: value}
                found = read(file, document({table: [holder] if table == "route" else holder}))
                assert isinstance(found, Config) or SECRET.lower() not in str(found).lower()


@unhurried
@given(DOCUMENTS, SEEDS)
def test_any_damage_to_a_file_is_taken_or_refused(file, said, seed):
    """With a key, which is the file's name where it is no TOML; what is taken is sound."""
    check(file, read(file, damaged(document(said).encode(), seed, b"[[route]]\nlisten = 'a:1'\n")))


FLAG = st.none() | st.text(max_size=20) | st.sampled_from(["127.0.0.1:1", "http://h:2", f"u:{SECRET}@h", ""])  # fmt: skip


@unhurried
@given(st.builds(Flags, FLAG, FLAG, FLAG, FLAG, st.none() | st.booleans()))
def test_any_flags_are_taken_or_refused(file, flags):
    """A refusal names the flag, not the key that it stands for."""
    found = refusal_of(lambda: check(file, load(None, flags)))

    assert {f.key for f in found} <= {"--listen", "--upstream", "--label", "--journal"}
    assert SECRET not in "\n".join(map(str, found))


def refusal_of(read_it):
    """The faults for which something is refused; none if it is not."""
    try:
        read_it()
    except ConfigError as refused:
        return refused.faults
    return ()


@unhurried
@given(st.text(max_size=40), SEEDS)
def test_any_address_is_read_or_refused_in_words_for_a_line(text, seed):
    """What is read is written so that it is read again, by the strict reader."""
    for base in ("http://[::1]:80/v1?k=v#f", "example.test:8080", text):
        odd = damaged(base.encode(), seed, text.encode("utf-8", "replace")).decode("latin-1")
        for parse in (Address.parse, lambda t: Origin.parse(t, "http://127.0.0.1:1")):
            assert_read_or_refused(parse, odd)


def assert_read_or_refused(parse, text):
    """What is read is read again, what is refused is refused with words."""
    try:
        found = parse(text)
    except UnusableError as refused:
        faults = refused.faults
    else:
        faults = ()
        assert parse(str(found)) == found
    assert all(what and remedy for what, remedy in faults)
