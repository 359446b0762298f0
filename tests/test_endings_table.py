"""The table of endings, played cell by cell: bytes and end at both sides, and the one record of it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
from typing import TYPE_CHECKING

import pytest

from proxy.journal.record import OutcomeName
from tests.support.edge import refusing_port, silent_port
from tests.support.endings import CELLS, GOES_ON, NO_RECORD, table
from tests.support.pages import page
from tests.support.program import Program, eventually
from tests.support.splice import Splice
from tests.support.staging import ERROR, MOMENTS, REPLY, Play, Script, record_of
from tests.support.upstream import Await, Close, Send, Upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from proxy.journal.record import Record
    from tests.support.endings import Cell
    from tests.support.upstream import Connection

READ_S, CONNECT_S = 0.5, 0.3
OURS = {"our stop": signal.SIGTERM, "our kill": signal.SIGKILL}
PAGE = page("docs/endings.md")

PLAYED = [cell for cell in CELLS if cell.exists and cell.who not in OURS]
LIMITS = {
    "read time-out": {"read_timeout_s": READ_S},
    "connect time-out": {"connect_timeout_s": CONNECT_S},
    "caller FIN, the upstream answers": {"connect_timeout_s": CONNECT_S},
}
REFUSES_TLS = [Await(size=10), Send(b"HTTP/1.0 400 this is no TLS\r\n\r\n"), Close()]


@contextlib.contextmanager
def address(cell: Cell, up: Upstream) -> Iterator[str]:
    """Where the route leads."""
    if cell.who == "DNS failure":
        yield "http://nowhere.invalid:80"
    elif cell.who == "refused":
        with refusing_port() as port:
            yield f"http://127.0.0.1:{port}"
    elif cell.who == "connect time-out":
        with silent_port() as port:
            yield f"http://127.0.0.1:{port}"
    else:  # a TLS handshake that nobody answers is part of connecting
        secure = cell.who == "TLS failure" or cell.when == "connecting"
        yield f"https://{up.authority}" if secure else up.url


@contextlib.asynccontextmanager
async def played(cell: Cell) -> AsyncIterator[tuple[Splice, Play]]:
    """The moment of a cell, before anything ends."""
    script = Script()
    steps = REFUSES_TLS if cell.who == "TLS failure" else script.steps
    async with Upstream(steps) as up:
        there = None if cell.upstream == "nobody" or steps is REFUSES_TLS else up
        with address(cell, up) as url:
            route = {"host": "keep", **LIMITS.get(cell.who, {})}
            async with Splice(url, **route) as splice, Play(cell.when, splice.port, there) as play:
                if steps is REFUSES_TLS:
                    play.there = await up.connection(0)
                yield splice, play
                script.over.set()


def came(play: Play, what: str, *, at_caller: bool) -> bool:
    """Whether a side has seen just what its column says."""
    if not at_caller:
        assert play.there is not None
        got = bytes(play.there.received)
        if what == "no request":
            return b"POST" not in got
        held = play.moment == "request head" and what == "so far" and not got
        return held or got == play.asked
    got = bytes(play.caller.received)
    if what in {"502", "504"}:
        return got.startswith(b"HTTP/1.1 " + what.encode()) and got.endswith(b"}")
    wholes = {"so far": play.said, "nothing": b"", "all of the reply": REPLY, "400": ERROR}
    return got == wholes[what]


async def check_sides(play: Play, cell: Cell) -> None:
    """Both ends see what the cell says, and end as it says."""
    sides = [(play.caller, cell.caller, True)]
    if play.there is not None:
        sides.append((play.there, cell.upstream, False))
    for side, text, at_caller in sides:
        what, end = text.split(", ")
        if end in {"FIN", "reset"}:
            assert end.lower() == await side.wait_end()
            if at_caller and cell.who == "upstream FIN":
                await side.fin()  # as clients do
        elif end == "open":
            assert side.ended is None
        assert came(play, what, at_caller=at_caller), bytes(side.received)


async def follow(play: Play, cell: Cell) -> None:
    """What the other side does about it; or the time in which nothing may happen."""
    there: Connection | None = play.there
    if cell.who == "caller FIN, the upstream answers" and cell.upstream != "no request, FIN":
        whole = play.asked == MOMENTS["waiting"][0]
        await play.answer(REPLY[len(play.said) :] if whole else ERROR)
    elif cell.who == "caller FIN, the upstream stops":
        assert there is not None
        await there.wait_end()
        there.close()
    elif "open" in cell.upstream:
        if cell.upstream.startswith("half"):
            assert there is not None
            await there.read_exactly(len(play.asked))
        await asyncio.sleep(READ_S * 1.5 if cell.who == "read time-out" else 0.1)


@pytest.mark.parametrize("cell", PLAYED, ids=lambda cell: cell.name)
async def test_an_ending(cell: Cell):
    """Each side sees what the row says, and just one exchange ends, as the row says."""
    async with played(cell) as (splice, play):
        tap = splice.tap
        await play.end(cell.who)
        await follow(play, cell)
        await check_sides(play, cell)
        if cell.outcome == GOES_ON:
            assert not tap.endings
        elif cell.outcome == NO_RECORD:
            assert ["complete"] == tap.outcomes
        else:
            await tap.ended()
            check_record(record_of(tap, 1), cell)
        await leave(splice, play)

        assert 1 == tap.opened == len(tap.endings)
        assert 0 == splice.floor.tap_failures


async def leave(splice: Splice, play: Play) -> None:
    """Both ends go, and nothing of the pair is left."""
    play.caller.close()
    if play.there is not None:
        play.there.close()
    await eventually(lambda: not splice.floor.callers, "the pair is gone", 5)


def check_record(record: Record, cell: Cell) -> None:
    """The record says what the row says."""
    kind = None if cell.error_kind == "-" else cell.error_kind
    assert (cell.outcome, cell.generation, kind) == (
        record.outcome,
        record.generation,
        record.error_kind,
    )


ROUTES = """
[[route]]
listen = "127.0.0.1:0"
upstream = "{plain}"
host = "keep"
label = "plain"

[[route]]
listen = "127.0.0.1:0"
upstream = "https://{silent}"
label = "silent"
connect_timeout_s = 60.0

[relay]
grace_s = 0.3
drain_s = 60.0
"""


@pytest.mark.parametrize("who", OURS)
async def test_an_ending_of_ours(who: str, tmp_path: Path):
    """The whole program, with a caller at each moment: what all of them see, and a record for each."""
    # The half head comes last: it is held for a second, and may be let go after that.
    cells = sorted((c for c in CELLS if c.who == who), key=lambda c: c.when == "request head")
    script = Script()
    async with (
        Upstream(script.steps) as up,
        Upstream(script.steps) as silent,
        Program("", tmp_path, config=ROUTES.format(plain=up.url, silent=silent.authority)) as proxy,
        contextlib.AsyncExitStack() as stack,
    ):
        lines = await eventually(lambda: listening(proxy), "both routes listen")
        numbers = itertools.count()
        plays = []
        for cell in cells:
            if cell.when == "request head":  # the last one: by then the recorder is to have started
                await proxy.wait_records(1)
            plain = cell.when != "connecting"
            where = ("plain", up, next(numbers)) if plain else ("silent", silent, 0)
            play = Play(cell.when, lines[where[0]], *where[1:])
            plays.append(await stack.enter_async_context(play))
        await asyncio.sleep(0.2)  # the last 20 ms may be lost with a killed proxy; this is more
        proxy.process.send_signal(OURS[who])
        for play, cell in zip(plays, cells, strict=True):
            await check_sides(play, cell)
        assert (0 if who == "our stop" else -signal.SIGKILL) == await proxy.wait()
        script.over.set()
        peers = [f"127.0.0.1:{play.caller.address[1]}" for play in plays]

    found = proxy.records()
    assert sorted(peers) == sorted(record.peer for record in found)
    by_peer = {record.peer: record for record in found}
    for peer, cell in zip(peers, cells, strict=True):
        record = by_peer[peer]
        if cell.outcome == NO_RECORD:
            assert "complete" == record.outcome, "of the exchange before"
        else:
            check_record(record, cell)


def listening(proxy: Program) -> dict[str, int]:
    """The port of each route, once both have said it."""
    said = [line for line in list(proxy.said) if line["event"] == "route.listening"]
    ports = {line["label"]: int(line["listen"].rpartition(":")[2]) for line in said}
    return ports if len(ports) == 2 else {}


# The table itself


@pytest.mark.parametrize("who", table())
def test_every_moment_has_its_row(who: str):
    """No cell is forgotten: one that cannot exist says why."""
    assert list(MOMENTS) == [cell.when for cell in table()[who]]
    for cell in table()[who]:
        assert cell.exists or len(cell.caller) > len("— ")


def test_outcomes_are_those_of_the_journal():
    """All but the fault of our own, which no side brings about."""
    found = {cell.outcome for cell in CELLS if cell.exists} - {GOES_ON, NO_RECORD}

    assert found == {*OutcomeName.__args__} - {"proxy_error"}


@pytest.mark.parametrize("who", table())
def test_the_page_has_these_rows(who: str):
    """docs/endings.md says what is played here, row by row."""
    rows = [list(cell)[1:] for cell in table()[who]]
    plain = [[text.replace("`", "") for text in row] for row in PAGE.rows(who[0].upper() + who[1:])]

    assert plain == rows


def test_the_page_has_no_other_table_of_endings():
    """A table that nothing holds to the sockets would be a claim."""
    heads = [head for head, body in PAGE.sections.items() if "| the caller sees |" in body]

    assert [head[0].lower() + head[1:] for head in heads] == [
        who[0].lower() + who[1:] for who in table()
    ]
