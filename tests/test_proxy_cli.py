"""The command `turnscope-proxy` as a person meets it: help, refusals, checks, a start and a stop."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from proxy import __version__
from proxy.command import journal_fault, turnscope_proxy
from proxy.log import Event

ROOT = Path(__file__).parents[1]
_CONTEXT = turnscope_proxy.make_context("turnscope-proxy", [])
FLAGS = set(turnscope_proxy.get_help_option_names(_CONTEXT)) | {
    flag for parameter in turnscope_proxy.get_params(_CONTEXT) for flag in parameter.opts
}
PROXY = [sys.executable, "-m", "proxy"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program, run to its end as a process of its own."""
    return subprocess.run(
        [*PROXY, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_every_flag(flag: str) -> None:
    """Help goes to stdout, names all flags and says what happens without any."""
    done = run(flag)

    assert (done.returncode, done.stderr) == (0, "")
    options = " ".join(re.findall(r"^  (-.*?)  ", done.stdout, re.MULTILINE))
    assert set(re.findall(r"--?[a-z]+", options)) == FLAGS
    assert "listens on 127.0.0.1:8484" in " ".join(done.stdout.split())


def test_docs_list_every_flag_and_no_other() -> None:
    """The table of flags in docs/configuration.md is the command's own."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    rows = re.findall(r"^\| (`-.*?) \|", text, re.MULTILINE)

    assert set(re.findall(r"--?[a-z]+", " ".join(rows))) == FLAGS


def test_version_is_the_packages() -> None:
    """One line, with name and version."""
    assert run("--version").stdout == f"turnscope-proxy, version {__version__}\n"


def test_check_says_what_would_be_done_and_leaves_nothing(tmp_path) -> None:
    """A good config: exit 0, a line a route, risks, the journal; no folder is made."""
    config = tmp_path / "config.toml"
    config.write_text("""
        [[route]]
        label = "home"
        [[route]]
        listen = "0.0.0.0:9000"
        upstream = "https://host"
    """)
    journal = tmp_path / "a" / "journal"
    done = run("--check", "--config", str(config), "--journal", str(journal))

    assert (done.returncode, done.stderr) == (0, "")
    first, home, far, risk, journal_line, counting, pages = done.stdout.splitlines()
    assert first == "no faults found; this would be done:"
    assert home.startswith("home  http://127.0.0.1:8484 -> http://127.0.0.1:8000   put ")
    assert far.startswith("http://127.0.0.1:9000 -> https://host   put ")
    assert risk.startswith("warning: 0.0.0.0:9000 can be reached from other machines")
    assert journal_line == f"records go to {journal}, which can be written"
    assert counting == (
        "prompts are counted by servers that count, at loopback and private addresses, else here, "
        "with tiktoken"
    )
    assert pages == "status pages at 127.0.0.1:8485, or none if that is taken"
    assert list(tmp_path.iterdir()) == [config]


def test_check_needs_no_file_and_no_flag(tmp_path) -> None:
    """The defaults pass, with the journal below XDG_STATE_HOME."""
    done = run("--check", XDG_STATE_HOME=str(tmp_path))

    assert done.returncode == 0
    assert f"records go to {tmp_path}/turnscope/journal" in done.stdout


def test_every_fault_is_said_at_once_on_stderr(tmp_path) -> None:
    """A bad config: exit 2, a head line that counts, a line for each fault, nothing on stdout."""
    config = tmp_path / "config.toml"
    config.write_text('[[route]]\nupstream = "localhost:8000"\n[recorder]\nnice = 99\n')
    done = run("--config", str(config), "--label", "x" * 99)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"turnscope-proxy: {config} has 3 faults (route[0] is the first [[route]]):",
        "  route[0].upstream: has no scheme; write http://localhost:8000 or https://localhost:8000",
        "  --label: cannot be that; write a text of at most 64 characters",
        "  recorder.nice: cannot be 99; write a whole number from 0 to 19",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--upstream", "localhost:8000"], "the command line has 1 fault:\n  --upstream: has no"),
        (["--upstream", "https://h/api/v1"], "put http://127.0.0.1:8484/api/v1 into the client"),
        (["--config", "/none.toml"], "/none.toml: cannot be read (No such file or directory)"),
        (["--journal", "/dev/null/j"], "the journal folder /dev/null/j cannot be written"),
        (["--upsteam", "x"], "No such option"),
        (["x"], "unexpected extra argument"),
    ],
)
def test_what_is_wrong_is_exit_2(arguments: list[str], said: str) -> None:
    """Faults, a folder that cannot be, and wrong usage: the same status, said on stderr."""
    done = CliRunner().invoke(turnscope_proxy, ["--check", *arguments])

    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_journal_folder_is_judged_without_a_trace(tmp_path) -> None:
    """A folder that is there, one that could be made, one below a file, one in a read-only place."""
    (tmp_path / "file").write_text("")

    assert journal_fault(tmp_path) is None
    assert journal_fault(tmp_path / "a" / "b") is None
    assert "Not a directory" in (journal_fault(tmp_path / "file") or "")
    assert "Not a directory" in (journal_fault(tmp_path / "file" / "x") or "")
    assert "name another with --journal" in (journal_fault(Path("/proc/1/x")) or "")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("foreign", ["__version__ = '2.4.10'\n", None], ids=["overwritten", "gone"])
def test_a_package_that_is_not_ours_is_one_clear_sentence(tmp_path, foreign: str | None) -> None:
    """With our `__init__` overwritten or gone, and whatever else missing: what to do, exit 2."""
    package = tmp_path / "proxy"
    package.mkdir()
    shutil.copy(ROOT / "proxy" / "cli.py", package)
    if foreign is not None:
        (package / "__init__.py").write_text(foreign)
    done = subprocess.run(
        # -S: without site-packages, where an editable install would lead back to the real package.
        [sys.executable, "-S", "-c", "from proxy.cli import main; main()"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "another distribution has been installed over turnscope's package" in done.stderr
    assert "environment of its own" in done.stderr


def test_a_port_in_use_is_one_clear_sentence(tmp_path) -> None:
    """The address that is taken is named, and nothing is left running."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("--listen", listen, "--journal", str(tmp_path))

    assert done.returncode == 2
    assert done.stderr.startswith("turnscope-proxy: ")
    assert done.stderr.count("\n") == 1
    assert listen in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_starts_with_flags_alone_and_stops_in_order(tmp_path, number: signal.Signals) -> None:
    """Each line on stderr is an event of the list with its keys; a signal ends it with 0."""
    arguments = ["--listen", "127.0.0.1:0", "--label", "home", "--journal", str(tmp_path / "j")]
    arguments += ["--status", "off"]  # its default address may be taken by another proxy
    with subprocess.Popen(
        [*PROXY, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            lines = []
            while not lines or lines[-1]["event"] != "route.listening":
                lines.append(orjson.loads(process.stderr.readline()))
            port = int(lines[-1]["listen"].rpartition(":")[2])
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    lines += map(orjson.loads, err.splitlines())

    assert (process.returncode, out) == (0, b"")
    assert [line["event"] for line in lines] == [
        "proxy.started",
        "route.listening",
        "proxy.stopping",
        "proxy.stopped",
    ]
    keys = {event.value.name: set(event.value.keys) for event in Event}
    for line in lines:
        assert set(line) == keys[line["event"]] | {"at", "level", "event"}
