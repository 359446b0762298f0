"""One client's one turn, from an empty home to a whole journal: `python -m clients.turn NAME`.

One rule: this runs where there is only loopback (`isolation`), and leaves journals, logs and one line of
JSON. What the turn was like is for others to read from the journals.

Two proxies stand in a row. The one at the server is as anybody starts it: it asks the server's own
tokenizer. The one at the client asks nobody and counts by tiktoken, as the known figures were counted. So
each turn also goes through two relays, and two recorders have to agree on it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from demo import tiny
from demo.child import ROOT, ChildError, child, first_line
from demo.models import MissingModelError, smollm2
from demo.proxied import recording
from demo.server import Setup, serving

from .catalog import named
from .install import FOLDER, place
from .isolation import IsolationError, close_off
from .pointing import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .catalog import Client
    from .pointing import Run

EXACT: Final = "journal"
"""The journal as anybody has it: counted by the server's tokenizer, where it offers one."""
COUNTED: Final = "journal-tiktoken"
"""The journal of the proxy that asks nobody."""

TURN_S: Final = 300.0
"""For one turn: the longest prompt alone takes half a minute on an idle machine."""
_READY_S: Final = 30.0
_RECORD_S: Final = 20.0
_END_S: Final = 5.0
_RETRY_S: Final = 0.1

# All slots together: the longest prompt has 23,000 tokens, and title requests run beside the turn.
_CONTEXT: Final = 131_072
_SLOTS: Final = 2


class Ended(msgspec.Struct, frozen=True):
    """How a client's program ended."""

    code: int | None
    """Its exit code; None: it was ended when its time was over."""
    seconds: float


def folder(name: str) -> Path:
    """Where a client's home, journal and logs are."""
    return FOLDER / name


@click.command()
@click.argument("name")
@click.option("--namespace/--no-namespace", default=True)
def main(name: str, *, namespace: bool) -> None:
    """Run one turn of the client NAME; print how it ended as JSON."""
    try:
        if namespace:
            close_off()
        sys.stdout.buffer.write(msgspec.json.encode(_turn(named((name,))[0])) + b"\n")
    except (ChildError, IsolationError, MissingModelError, OSError) as error:
        sys.exit(str(error))


def _turn(client: Client) -> Ended:
    here = folder(client.name)
    for name in ("home", EXACT, COUNTED):
        shutil.rmtree(here / name, ignore_errors=True)
        (here / name).mkdir(parents=True)
    asks_nobody = here / "counted.toml"
    asks_nobody.write_text('[tokenizer]\nserver = "off"\n', "utf-8")
    with contextlib.ExitStack() as stack:
        upstream, model = stack.enter_context(_upstream(client, here))
        url = stack.enter_context(recording(upstream, here / EXACT, here / "exact.log"))
        flags = (here / COUNTED, here / "counted.log", "--config", str(asks_nobody))
        url = stack.enter_context(recording(url, *flags))
        # Not below the checkout: an agent reads what it finds above, a repository and notes for agents.
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="turn-"))
        where = Place(here / "home", Path(work), place(client), url, model)
        ended = _run(client.point(where), where, here / "client.log")
        for journal in (EXACT, COUNTED):
            _wait_for_record(here / journal)
    return ended


@contextlib.contextmanager
def _upstream(client: Client, here: Path) -> Iterator[tuple[str, str]]:
    """The server and the model to ask it for."""
    log = here / "server.log"
    if client.upstream == "llama":
        model = tiny.tiny_model(smollm2())
        with serving(Setup(model, tiny.ALIAS, context=_CONTEXT, slots=_SLOTS), log) as url:
            yield url, tiny.ALIAS
        return
    with child([sys.executable, "-m", f"clients.scripted_{client.upstream}"], log) as process:
        yield first_line(process, log, _READY_S).removeprefix("READY ").strip(), ""


def _run(run: Run, where: Place, log: Path) -> Ended:
    """Start it as a shell would, bounded in time; nothing of it is left."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(where.home),
        "TMPDIR": str(where.home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        # For the commands that are modules of this package.
        "PYTHONPATH": str(ROOT),
        **run.environment,
    }
    begun = time.perf_counter()
    with log.open("wb") as out:
        if run.before is not None:
            subprocess.run(
                run.before,
                input=run.typed.encode(),
                env=environment,
                cwd=where.work,
                stdout=out,
                stderr=out,
                timeout=TURN_S,
                check=True,
            )
        process = subprocess.Popen(
            run.command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            cwd=where.work,
            start_new_session=True,
        )
        code = _end(process)
    return Ended(code, time.perf_counter() - begun)


def _end(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit code; None when its time was over. Its whole session is ended either way."""
    code: int | None = None
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(TURN_S)
        if code is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return code


def _wait_for_record(journal: Path) -> None:
    """Give the recorder time to read its token tables; a client that asked nothing leaves no record."""
    deadline = time.perf_counter() + _RECORD_S
    while not any(journal.glob("*.jsonl")) and time.perf_counter() < deadline:
        time.sleep(_RETRY_S)


if __name__ == "__main__":
    main()
