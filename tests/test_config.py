"""The keys themselves: their defaults, and that the example and the docs name the same ones."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from proxy.config import Config, Route, default_journal_dir
from proxy.configfile import load
from proxy.log import Event

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "config.example.toml"
DOCS = ROOT / "docs" / "configuration.md"

TABLES = {f.name: f.type for f in msgspec.structs.fields(Config)} | {"route": Route}
KEYS = {(table, key) for table, kind in TABLES.items() for key in kind.__struct_fields__}


@pytest.mark.parametrize(
    ("state", "folder"),
    [
        ("/var/state", "/var/state/turnscope/journal"),
        ("", "/home/me/.local/state/turnscope/journal"),
        ("relative", "/home/me/.local/state/turnscope/journal"),
        (None, "/home/me/.local/state/turnscope/journal"),
    ],
)
def test_default_journal_folder_follows_xdg(monkeypatch, state, folder: str) -> None:
    """XDG_STATE_HOME counts if it is absolute; else the home's own state folder."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if state is not None:
        monkeypatch.setenv("XDG_STATE_HOME", state)

    assert default_journal_dir() == Path(folder)
    assert Config().journal.dir == Path(folder)


def test_config_is_frozen() -> None:
    """Nobody changes a config that others already act on."""
    with pytest.raises(AttributeError):
        Config().relay.grace_s = 1.0


def test_example_equals_the_defaults() -> None:
    """The example, as it is, changes nothing."""
    assert load(EXAMPLE) == Config()


def example_lines() -> dict[tuple[str, str], str]:
    """Each key of the example, live or commented out, with its line."""
    found: dict[tuple[str, str], str] = {}
    table = ""
    for line in EXAMPLE.read_text().splitlines():
        if head := re.match(r"\[+(\w+)\]+", line):
            table = head[1]
        elif key := re.match(r"(?:# )?(\w+) = ", line):
            found[table, key[1]] = line
    return found


def test_example_names_every_key_and_says_what_it_is() -> None:
    """No key is missing, none is invented, and each has a comment on its line."""
    lines = example_lines()

    assert set(lines) == KEYS
    assert [line for line in lines.values() if not re.search(r".{3} +# \w.{10}", line)] == []


def test_keys_that_the_example_comments_out_can_be_switched_on(tmp_path) -> None:
    """A line without its leading mark is valid, so the example shows no wrong value."""
    text = EXAMPLE.read_text()
    live = tmp_path / "live.toml"
    live.write_text(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))

    config = load(live)

    assert config.route[0].read_timeout_s == 300
    assert config.journal.dir == Path("~/.local/state/turnscope/journal").expanduser()


def documented() -> dict[tuple[str, str], str]:
    """Each key that the docs list, with the default they give."""
    found: dict[tuple[str, str], str] = {}
    table = ""
    for line in DOCS.read_text().splitlines():
        if head := re.match(r"### `\[+(\w+)\]+`", line):
            table = head[1]
        elif line.startswith("## "):
            table = ""
        elif table and (row := re.match(r"\| `(\w+)` \|.*\|(.*)\|$", line)):
            found[table, row[1]] = row[2].strip()
    return found


def test_docs_list_every_key_and_no_other() -> None:
    """docs/configuration.md and the code have the same keys."""
    assert set(documented()) == KEYS


@pytest.mark.parametrize(("table", "key"), sorted(KEYS))
def test_docs_give_the_default(tmp_path, table: str, key: str) -> None:
    """A default in the docs, written into a file, gives the default; or it is said to be absent."""
    default = documented()[table, key]
    if default == "absent" or (table, key) == ("journal", "dir"):
        absent = {("route", "read_timeout_s"), ("journal", "dir"), ("tokenizer", "file")}
        absent |= {("route", "allow"), ("route", "tls_cert"), ("route", "tls_key")}
        absent |= {("journal", "keep_days"), ("journal", "max_bytes"), ("status", "listen")}
        assert (table, key) in absent
        return
    head = f"[[{table}]]" if table == "route" else f"[{table}]"
    file = tmp_path / "config.toml"
    file.write_text(f"{head}\n{key} = {default.strip('`')}\n")

    assert load(file) == Config()


def test_docs_give_a_unit_to_every_duration_and_size() -> None:
    """What ends in `_s` is in seconds and what ends in `_bytes` in bytes, in the docs too."""
    text = DOCS.read_text()
    for _, key in KEYS:
        unit = {"s": "seconds", "bytes": "bytes"}.get(key.rpartition("_")[2])
        if "_" in key and unit:
            assert re.search(rf"\| `{key}` \|.*\| {unit} \|", text)


def test_docs_list_every_event_with_its_keys() -> None:
    """The table of events is the closed list."""
    rows = re.findall(
        r"^\| `([a-z]+\.[a-z]+)` \| (\w+) \| (.*) \|$", DOCS.read_text(), re.MULTILINE
    )

    assert rows == [
        (e.value.name, e.value.level, ", ".join(f"`{key}`" for key in e.value.keys)) for e in Event
    ]
