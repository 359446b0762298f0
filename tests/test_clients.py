"""`make clients` without the clients: what can be asked of it, and what stands around them.

The clients themselves are no part of CI. Their rows and locks are, the scripted servers, and the place
where there is only loopback.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from websockets.sync.client import connect

from clients.__main__ import main
from clients.catalog import CLIENTS, named
from clients.isolation import IsolationError, close_off, prefix
from clients.known import known
from demo.child import child, first_line
from tests.support.source import ROOT


def test_without_a_name_all_run_that_are_not_heavy():
    """Open WebUI is six gigabytes: it has to be asked for."""
    assert [client.name for client in CLIENTS if client not in named(())] == ["open-webui"]
    assert named((), everything=True) == list(CLIENTS)
    assert [client.name for client in named(("codex", "pi"))] == ["pi", "codex"]
    assert [client.name for client in named(("open-webui",))] == ["open-webui"]


def test_a_name_that_is_none_is_refused_with_those_there_are():
    """Before anything is installed."""
    done = CliRunner().invoke(main, ["pie"])

    assert done.exit_code == 2
    assert "there is no client pie; there are aider, anthropic-sdk," in done.stderr


def test_every_client_is_known_in_the_version_that_is_locked():
    """Figures of another version than the one that runs would be no comparison."""
    figures = known()

    assert figures.keys() == {client.name for client in CLIENTS}
    for client in CLIENTS:
        if client.registry == "npm":
            folder = ROOT / "clients" / "npm" / client.folder
            package = orjson.loads((folder / "package.json").read_bytes())
            assert package["dependencies"] == {client.package: figures[client.name].version}
        elif client.registry == "pip":
            lock = (ROOT / "clients" / "pip" / f"{client.folder}.txt").read_text("utf-8")
            assert f"{client.package}=={figures[client.name].version}" in lock.split()


def test_a_lock_names_no_place():
    """Packages by name, version and hash: from where to take them is the machine's own affair."""
    for path in (ROOT / "clients").rglob("package-lock.json"):
        packages = orjson.loads(path.read_bytes())["packages"]
        assert "://" not in path.read_text("utf-8")
        assert all("integrity" in package for name, package in packages.items() if name)
    for path in (ROOT / "clients" / "pip").glob("*.txt"):
        assert not re.search(r"https?:|file:|find-links|--index", path.read_text("utf-8"))


def isolated(*command):
    """Run Python where there is only loopback; skip where there can be no such place."""
    try:
        front = prefix()
    except IsolationError as error:
        pytest.skip(str(error))
    done = [*front, sys.executable, "-c", "; ".join(command)]
    return subprocess.run(done, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_there_is_only_loopback_where_a_client_runs():
    """It can talk to this machine and to nothing else."""
    done = isolated(
        "import socket, clients.isolation as i",
        "i.close_off()",
        "there = socket.create_server(('127.0.0.1', 0))",
        "socket.create_connection(there.getsockname(), 5)",
        "print(socket.socket().connect_ex(('192.0.2.1', 9)))",
    )

    assert (done.stdout, done.stderr) == ("101\n", "")  # ENETUNREACH


def test_nothing_outlives_its_place():
    """What a client leaves behind ends with it, in a session of its own or not."""
    done = isolated(
        "import subprocess, os",
        "print(os.getpid())",
        "subprocess.Popen(['sleep', '987'], start_new_session=True)",
    )

    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert done.stdout == "1\n"
    assert b"sleep\x00987\x00" not in lines


def test_a_place_with_more_than_loopback_is_refused():
    """A turn never begins there unless it was told to."""
    if {name for _, name in socket.if_nameindex()} == {"lo"}:
        pytest.skip("this machine has only loopback")

    with pytest.raises(IsolationError, match="this is no place with loopback alone"):
        close_off()


def scripted(tmp_path, name):
    """A scripted server, running."""
    return child([sys.executable, "-m", f"clients.scripted_{name}"], tmp_path / "log")


def address(process, tmp_path):
    """Where it listens."""
    return first_line(process, tmp_path / "log", 20).removeprefix("READY ")


def test_the_scripted_gemini_answers_by_the_schema_that_it_was_given(tmp_path):
    """A router that gets no JSON would ask again and again."""
    schema = {
        "type": "object",
        "properties": {"why": {"type": "string"}, "score": {"type": "integer", "minimum": 3}},
        "required": ["why", "score"],
    }
    body = orjson.dumps({"contents": [], "generationConfig": {"responseJsonSchema": schema}})
    with scripted(tmp_path, "gemini") as process:
        url = f"{address(process, tmp_path)}/v1beta/models/m:"
        with urllib.request.urlopen(f"{url}generateContent", body, timeout=10) as reply:
            part = orjson.loads(reply.read())["candidates"][0]["content"]["parts"][0]
        with urllib.request.urlopen(f"{url}streamGenerateContent?alt=sse", b"{}") as reply:
            events = [orjson.loads(line[6:]) for line in reply if line.startswith(b"data: ")]

    assert orjson.loads(part["text"]) == {"why": "none", "score": 3}
    assert [event["candidates"][0].get("finishReason") for event in events] == [None, None, "STOP"]


def test_the_scripted_responses_warm_up_without_a_word(tmp_path):
    """A pre-warm is answered by an empty response, a turn by a message."""
    with (
        scripted(tmp_path, "responses") as process,
        connect(address(process, tmp_path).replace("http", "ws") + "/v1/responses") as wire,
    ):
        kinds = []
        for more in ({"generate": False}, {}):
            wire.send(orjson.dumps({"type": "response.create", "input": [], **more}).decode())
            kinds.append([])
            while not kinds[-1] or kinds[-1][-1] != "response.completed":
                kinds[-1].append(orjson.loads(wire.recv(timeout=10))["type"])

    warm, turn = kinds
    assert warm == ["response.created", "response.completed"]
    assert turn.count("response.output_text.delta") == 3
