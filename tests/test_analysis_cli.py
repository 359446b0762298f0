"""The command `turnscope` as a person runs it: flags, streams, exit codes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import orjson
import pytest

from analysis.command import default_journal_dir
from proxy import __version__
from proxy.config import default_journal_dir as proxys_journal_dir
from proxy.journal.lines import encode
from tests.support import journals
from tests.support.builders import record
from tests.support.turnscope import COMMAND, PROJECT, SEGMENT, environment, run


@pytest.fixture
def journal(tmp_path):
    """A folder with the field report's turn in it."""
    folder = tmp_path / "journal"
    folder.mkdir()
    held = journals.field_report()
    (folder / SEGMENT).write_bytes(b"".join(encode(r) for r in held.records))
    for tools in held.tool_sets.values():
        (folder / f"tools-{tools.set_hash}.json").write_bytes(encode(tools))
    return folder


def test_reports_a_folder(journal):
    """The report of what is on disk is the one of the same records in memory."""
    done = run("report", "--journal", journal)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (PROJECT / "tests/golden/report_field_report.txt").read_text("utf-8")


def test_reports_as_json(journal):
    """The same for a program, with the name of its shape."""
    done = run("report", "--json", "--journal", journal)

    assert (done.returncode, done.stderr) == (0, "")
    assert orjson.loads(done.stdout)["schema"] == "turnscope.report/2"
    assert done.stdout == (PROJECT / "tests/golden/report_field_report.json").read_text("utf-8")


def test_reads_the_proxys_folder_by_itself(journal, tmp_path):
    """Without a flag: below XDG_STATE_HOME, which counts only if it is absolute, else below HOME."""
    usual = tmp_path / "home/.local/state/turnscope"
    usual.mkdir(parents=True)
    journal.rename(usual / "journal")
    home = str(tmp_path / "home")

    assert run("report", HOME=home).returncode == 0
    assert run("report", HOME=home, XDG_STATE_HOME="state").returncode == 0
    assert run("report", HOME="/", XDG_STATE_HOME=f"{home}/.local/state").returncode == 0
    assert run("report", HOME=home, XDG_STATE_HOME=home).returncode == 1


@pytest.mark.parametrize("state", ["", "relative", "/var/lib/state"])
def test_both_commands_mean_the_same_folder(monkeypatch, state):
    """What the proxy writes without a flag is what the report reads without a flag."""
    monkeypatch.setenv("XDG_STATE_HOME", state)

    assert default_journal_dir() == proxys_journal_dir()


def test_a_missing_folder_says_what_to_do(tmp_path):
    """Exit 1, nothing on stdout, and commands that can be copied as they are."""
    folder = tmp_path / "no where"

    done = run("report", "--journal", folder)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"Nothing has been recorded in {folder} yet." in done.stderr
    assert f"turnscope-proxy --journal '{folder}' --upstream" in done.stderr
    assert f"turnscope report --journal '{folder}'" in done.stderr
    assert "http://127.0.0.1:8484/v1" in done.stderr


def test_an_empty_folder_says_what_to_do(tmp_path):
    """A proxy without a client yet: exit 0, the hint, and a report of nothing as JSON."""
    plain = run("report", "--journal", tmp_path)
    as_json = run("report", "--json", "--journal", tmp_path)

    assert (plain.returncode, as_json.returncode) == (0, 0)
    assert f"Nothing has been recorded in {tmp_path} yet." in plain.stdout
    assert orjson.loads(as_json.stdout)["census"]["exchanges"] == 0
    assert "Nothing has been recorded" in as_json.stderr


def test_a_usual_folder_needs_no_flag(tmp_path):
    """The hint names no folder that both commands take by themselves."""
    done = run("report", HOME=str(tmp_path))

    assert "turnscope report\n" in done.stderr
    assert "turnscope-proxy --upstream" in done.stderr


def test_the_hint_can_be_typed_where_nothing_is_on_the_path(tmp_path):
    """In a checkout whose environment is not active, a bare name would not be found."""
    done = run("report", HOME=str(tmp_path), PATH="/nowhere")

    typed = [line.split() for line in done.stderr.splitlines() if line.startswith("         ")]
    commands = [words[0] for words in typed if not words[0].startswith("http")]
    assert [PROJECT.joinpath(name).name for name in commands] == ["turnscope-proxy", "turnscope"]
    assert [name for name in commands if not PROJECT.joinpath(name).is_file()] == []
    assert "make run and make analyze" in done.stderr


def test_a_folder_of_damage_alone_is_reported(tmp_path):
    """No record can be read: that is said before what to do."""
    (tmp_path / SEGMENT).write_bytes(b"junk\n")

    done = run("report", "--journal", tmp_path)

    assert done.returncode == 0
    assert "1 piece could not be read" in done.stdout
    assert "Nothing has been recorded" not in done.stdout


def test_damage_is_never_fatal(journal):
    """A line that cannot be read is counted beside the ones that can."""
    with (journal / SEGMENT).open("ab") as segment:
        segment.write(b'{"v":1,"id":"r1-2"')

    done = run("report", "--journal", journal)

    assert done.returncode == 0
    assert f"1 piece could not be read ({SEGMENT} line 2:" in done.stdout
    assert "The only turn recorded took 16.1 s" in done.stdout


@pytest.mark.parametrize("command", ["report", "tail"])
def test_a_file_in_place_of_the_folder_is_refused(journal, command):
    """Wrong usage: one sentence, exit 2."""
    done = run(command, "--journal", journal / SEGMENT)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("turnscope: cannot read the journal folder")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["repot"], ["report", "--josn"], ["tail", "-n", "-1"], ["tail", "-n", "x"], []]
)
def test_wrong_usage_is_exit_2(arguments):
    """And the usage is shown on stderr."""
    done = run(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: turnscope" in done.stderr


def test_help_names_commands_and_exit_codes():
    """`-h` and `--help` are one; every command has its sentence."""
    short, long = run("-h"), run("--help")

    assert short.stdout == long.stdout
    assert (short.returncode, short.stderr) == (0, "")
    for words in ("report", "tail", "Exit status: 0 fine, 1 found problems, 2 wrong usage."):
        assert words in short.stdout
    assert "--journal DIR" in run("report", "-h").stdout
    assert "Ctrl-C" in run("tail", "-h").stdout


def test_says_its_version():
    """The one version of both packages."""
    assert run("--version").stdout == f"turnscope, version {__version__}\n"


@pytest.mark.parametrize("stranger", ["", "import a_library_that_is_not_there", "OWNER = 'x'"])
def test_a_strangers_proxy_package_is_recognised(tmp_path, stranger):
    """PyPI's proxy.py over ours: one sentence with the remedy, exit 2, no traceback."""
    (tmp_path / "proxy").mkdir()
    (tmp_path / "proxy/__init__.py").write_text(stranger, "utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from analysis.cli import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "environment of its own" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["report"], ["report", "--json"], ["tail"]])
def test_a_reader_that_left_ends_it_quietly(journal, arguments):
    """`| head`: nothing on stderr, exit 0."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, *arguments, "--journal", str(journal)],
            cwd=PROJECT,
            env=environment(),
            stdout=write,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    finally:
        os.close(write)

    assert (done.returncode, done.stderr) == (0, b"")


def on_a_terminal(*arguments, **env):
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    subprocess.run(
        [*COMMAND, *arguments],
        cwd=PROJECT,
        env=environment(**env),
        stdout=theirs,
        timeout=30,
        check=True,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        written += piece
    os.close(ours)
    return written


def test_colour_is_for_terminals_that_have_it(tmp_path):
    """A terminal gets colour unless it is dumb or its user does not want any (no-color.org)."""
    (tmp_path / SEGMENT).write_bytes(encode(record(parts=[])))
    report = ("report", "--journal", str(tmp_path))

    assert b"\x1b[" in on_a_terminal(*report, TERM="xterm")
    assert b"\x1b" not in on_a_terminal(*report, TERM="xterm", NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(*report, TERM="dumb")


def test_names_outside_of_the_terminals_letters_are_shown(tmp_path):
    """An ASCII terminal and a model from elsewhere: no traceback."""
    (tmp_path / SEGMENT).write_bytes(encode(record(model_served="模型")))

    done = run("report", "--journal", tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert done.returncode == 0
    assert "\\u6a21\\u578b" in done.stdout
