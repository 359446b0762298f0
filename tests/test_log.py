"""What the program says: the closed list, both forms, and that nobody waits for a line."""

from __future__ import annotations

import ast
import os
import re
import select
import threading
import time

import orjson
import pytest
import structlog

from proxy.journal import console
from proxy.log import Event, Log
from tests.support.builders import parts, record
from tests.support.source import modules

SAID_IN = [m for m in modules("proxy") if m.name != "proxy.log"]
CALLS = [
    (f"{module.path}:{node.lineno}", node)
    for module in SAID_IN
    for node in ast.walk(module.tree)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if node.func.attr == "say"
]


@pytest.fixture
def pipe():
    """A pipe: the end to read from, which does not block, and the end to say into."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    yield reader, writer
    for fd in (reader, writer):
        try:
            os.close(fd)
        except OSError:
            continue  # the test has closed it


def read(fd: int) -> bytes:
    """All that is there; nothing is `b""`."""
    return os.read(fd, 1 << 20) if select.select([fd], [], [], 0)[0] else b""


def test_names_are_dotted_past_tense_and_unique() -> None:
    """Event names are a noun and a past participle, or a passing state of one, in lower case."""
    names = [event.value.name for event in Event]

    assert len(set(names)) == len(names)
    assert [
        n for n in names if not re.fullmatch(r"[a-z]+\.([a-z]+ed|lost|listening|stopping)", n)
    ] == []


@pytest.mark.parametrize(("where", "call"), CALLS, ids=[where for where, _ in CALLS])
def test_each_call_in_the_program_keeps_to_the_list(where: str, call: ast.Call) -> None:
    """An event is named as a member of the list, with its keys: all, or the rest in a mapping."""
    named = call.args[0]
    assert isinstance(named, ast.Attribute), where
    assert isinstance(named.value, ast.Name), where
    assert named.value.id == "Event"
    allowed = set(Event[named.attr].value.keys)
    given = {keyword.arg for keyword in call.keywords}
    open_ended = None in given

    assert given - {None} <= allowed, where
    assert open_ended or given == allowed, where


def test_each_event_is_said_somewhere() -> None:
    """The list holds nothing that cannot happen."""
    said = {ast.unparse(call.args[0]).removeprefix("Event.") for _, call in CALLS}

    assert {event.name for event in Event} - said == {"LOG_LAGGED"}


def test_an_exchange_has_the_keys_of_the_list() -> None:
    """The fields of a record for machines are those of its event; parts it does not have are absent."""
    listed = set(Event.EXCHANGE_ENDED.value.keys)
    every = parts(system=1, tools=1, history=1, tool_results=1, question=1, media=None, template=1)

    assert set(console.fields(record(parts=every))) == listed
    assert listed - set(console.fields(record(parts=[]))) == {
        key for key in listed if key.removesuffix("_tokens") in {p.part for p in every}
    }


def test_json_is_one_object_a_line(pipe) -> None:
    """Machines get time, level, event and keys; the sentence for people stays out."""
    reader, writer = pipe
    Log(writer, "json").say(Event.RECORDER_LOST, "it died", pid=7, lost=2)

    line = orjson.loads(read(reader))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("at"))
    assert line == {"level": "error", "event": "recorder.lost", "pid": 7, "lost": 2}


def test_text_is_the_sentence_behind_a_time(pipe) -> None:
    """People get the time of day, a word of warning where due, and the sentence."""
    reader, writer = pipe
    log = Log(writer, "text")
    log.say(Event.PROXY_STARTED, "here we are", version="1", pid=1, journal="/j")
    log.say(Event.RECORDER_LOST, "it died", pid=7, lost=2)
    log.say(Event.RECORDER_LOST, pid=7, lost=2)

    lines = read(reader).decode().splitlines()
    assert [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in lines] == [
        "here we are",
        "error: it died",
        "error: recorder.lost  pid=7  lost=2",
    ]
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)


def test_a_sentence_with_its_own_time_gets_no_second_one(pipe) -> None:
    """An exchange's line says when the exchange ended, not when the line was written."""
    reader, writer = pipe
    Log(writer, "text").say(Event.EXCHANGE_ENDED, "19:22:41 home  ok", id="a-1")

    assert read(reader) == b"19:22:41 home  ok\n"


def test_form_follows_the_terminal() -> None:
    """Auto is text on a terminal and JSON in a pipe."""
    leader, terminal = os.openpty()
    reader, writer = os.pipe()
    try:
        for fd in (terminal, writer):
            Log(fd).say(Event.LOG_LAGGED, "gone", lines=1)

        assert read(leader).rstrip().endswith(b"warning: gone")
        assert orjson.loads(read(reader))["event"] == "log.lagged"
    finally:
        for fd in (leader, terminal, reader, writer):
            os.close(fd)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "said", ["\x1b[2J\x07", "a\nb\r", "\u202eevil", "\ud800", "x" * 10_000, "\U0001f600" * 5000]
)
def test_what_others_sent_cannot_break_a_line_or_a_screen(pipe, form: str, said: str) -> None:
    """A model's name may hold anything; what comes out is one bounded line without controls."""
    reader, writer = pipe
    Log(writer, form).say(Event.EXCHANGE_ENDED, f"00:00:00 {said}", model=said)
    Log(writer, form).say(Event.EXCHANGE_ENDED, model=said)

    data = read(reader)
    lines = data.split(b"\n")
    assert len(lines) == 3
    assert all(len(line) < select.PIPE_BUF for line in lines)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    assert "\u202e" not in data.decode() or form == "json"


@pytest.mark.parametrize(
    "value",
    [None, True, 0.5, float("nan"), 2**63, -(10**5000), b"b", ["l"]],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_any_value_can_be_said(pipe, form: str, value: object) -> None:
    """No value makes a line fail."""
    reader, writer = pipe
    Log(writer, form).say(Event.TAP_FAILED, detail=value)

    assert b"tap.failed" in read(reader)


def test_nobody_waits_for_a_line(pipe) -> None:
    """A pipe that nobody reads: lines are left out at once, counted, and the count is said later."""
    reader, writer = pipe
    log = Log(writer, "json")
    before = time.monotonic()
    for number in range(5000):
        log.say(Event.RECORDER_LAGGED, left_out_bytes=number)
    took = time.monotonic() - before
    written = read(reader).splitlines()
    log.say(Event.RECORDER_LAGGED, left_out_bytes=-1)

    assert took < 2
    assert [orjson.loads(line)["left_out_bytes"] for line in written] == list(range(len(written)))
    assert 0 < len(written) < 5000
    lagged, last = (orjson.loads(line) for line in read(reader).splitlines())
    assert (lagged["event"], lagged["lines"]) == ("log.lagged", 5000 - len(written))
    assert last["left_out_bytes"] == -1


def test_a_reader_that_has_gone_is_no_matter(pipe) -> None:
    """A closed pipe loses lines and nothing else."""
    reader, writer = pipe
    log = Log(writer, "json")
    os.close(reader)

    for _ in range(3):
        log.say(Event.LOG_LAGGED, lines=1)


def test_structlog_at_large_stays_as_it_was(pipe) -> None:
    """Making and using a log configures nothing for others."""
    _, writer = pipe
    Log(writer).say(Event.LOG_LAGGED, lines=1)

    assert not structlog.is_configured()


def test_two_threads_may_speak_at_once(tmp_path):
    """Each line is whole, and none is a fault."""
    with (tmp_path / "log").open("wb", buffering=0) as file:
        log = Log(file.fileno(), "json")

        def speak() -> None:
            for number in range(3000):
                log.say(Event.RECORDER_LOST, pid=number)

        threads = [threading.Thread(target=speak) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    lines = (tmp_path / "log").read_bytes().splitlines()
    assert len(lines) == 12_000
    assert all(orjson.loads(line) for line in lines)
