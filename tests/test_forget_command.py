"""`turnscope forget` as a person types it: moments, answers, exit codes, Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone

import orjson
import pytest

from analysis import forgotten
from analysis.store.folder import FolderStore
from proxy.segments import JournalFolder
from tests.support.three_days import NOON, NOON_NS, OLD, RUN, SEGMENT, at, lines, there, three_days
from tests.support.turnscope import COMMAND, PROJECT, environment, run


@pytest.fixture
def journal(tmp_path):
    """A journal of three days."""
    folder = tmp_path / "journal"
    folder.mkdir()
    three_days(folder)
    return folder


def test_ctrl_c_ends_the_command_between_two_files(tmp_path):
    """Exit 1, one sentence, what was done so far; every file is whole."""
    old = lines(at(-1)) * 1000
    for number in range(1, 41):
        (tmp_path / f"2026-09-21-9-{number}.jsonl").write_bytes(old + lines(at(1, number)))
    arguments = ["forget", "--before", NOON.isoformat(), "--journal", str(tmp_path), "--json"]
    command = subprocess.Popen(
        [*COMMAND, *arguments], cwd=PROJECT, env=environment(), stdout=-1, stderr=-1
    )
    size = (tmp_path / SEGMENT).stat().st_size
    deadline = time.monotonic() + 30
    while (tmp_path / SEGMENT).stat().st_size == size and time.monotonic() < deadline:
        time.sleep(0.001)
    command.send_signal(signal.SIGINT)
    said, complained = command.communicate(timeout=30)

    assert command.returncode == 1
    assert b"interrupted; the journal is whole" in complained
    done = orjson.loads(said)
    assert 0 < len(done["rewritten"]) < 40
    journal = FolderStore(tmp_path).journal()
    assert {u.reason.partition(" ")[0] for u in journal.unreadable} <= {"a"}  # a second record
    assert {r.id for r in journal.records} >= {f"{RUN}-{n}" for n in range(1, 41)}
    assert [name for name in there(tmp_path) if name.startswith(".")] == []


@pytest.mark.parametrize(
    ("text", "zone", "unix_s"),
    [
        ("2026-11-01", "UTC", 1_793_491_200),
        ("2026-11-01", "Europe/Berlin", 1_793_487_600),
        ("2026-07-01T12:30", "Europe/Berlin", 1_782_901_800),
        ("2026-11-01T00:00:00Z", "Europe/Berlin", 1_793_491_200),
        ("2026-11-01T00:00:00.5+02:00", "UTC", 1_793_484_000.5),
    ],
)
def test_a_date_is_of_this_machines_zone_unless_it_names_one(monkeypatch, text, zone, unix_s):
    """Summer time as it is then."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert forgotten.unix_ns(forgotten.moment(text)) == unix_s * 10**9
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_moment_is_exact_to_the_microsecond():
    """Before 1970 too, where a division towards zero would be off."""
    zone = timezone(timedelta(hours=2))
    for text, ns in (("1969-12-31T23:59:59.999999Z", -1000), ("2026-11-01T00:00:00.000001Z", 1000)):
        whole = round(datetime.fromisoformat(text).timestamp()) * 10**9
        assert forgotten.unix_ns(datetime.fromisoformat(text).astimezone(zone)) == whole + ns


@pytest.mark.parametrize(
    "text", ["yesterday", "", "2026-13-01", "01.11.2026", "0001-01-01T00:00\x00"]
)
def test_what_is_no_date_is_wrong_usage(tmp_path, text):
    """Exit 2 with a date that would do; nothing is touched."""
    done = run("forget", "--before", text.replace("\x00", "!"), "--journal", tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert "write one like 2026-11-01" in done.stderr


def test_a_missing_moment_or_folder_is_wrong_usage(tmp_path):
    """Without a moment nothing is old; without a folder there is nothing to forget."""
    assert run("forget", "--journal", tmp_path).returncode == 2
    nowhere = run("forget", "--before", "2026-11-01", "--journal", tmp_path / "nowhere")

    assert (nowhere.returncode, nowhere.stderr.count("\n")) == (2, 1)


def test_the_command_says_what_it_did_and_when(journal):
    """Figures, and the zone that the moment was read in; not asked where no terminal is."""
    done = run("forget", "--before", "2026-09-21T14:00", "--journal", journal, TZ="Europe/Berlin")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Forgot what began before 2026-09-21 14:00:00 CEST in ")
    assert "\n      4  records\n" in done.stdout
    assert "\n      3  files rewritten\n" in done.stdout
    again = run("forget", "--before", "2026-09-21T12:00Z", "--journal", journal)
    assert again.returncode == 0
    assert again.stdout == f"Nothing in {journal} began before 2026-09-21 12:00:00 UTC.\n"


def test_json_has_the_same(journal):
    """With the name of its shape, and whether it was done."""
    arguments = ("forget", "--before", "2026-09-21T12:00Z", "--journal", journal, "--json")
    dry, done = (orjson.loads(run(*arguments, *more).stdout) for more in (["--dry-run"], []))

    assert (dry.pop("dry_run"), done.pop("dry_run")) == (True, False)
    assert dry == done
    assert done["schema"] == "turnscope.forget/1"
    assert (done["records"], done["loss_lines"], done["gauge_samples"]) == (4, 2, 1)
    assert (done["before"], done["before_unix_ns"]) == ("2026-09-21T12:00:00+00:00", NOON_NS)


def test_what_is_still_there_is_exit_1(tmp_path):
    """A script must know that not all has gone."""
    folder = JournalFolder(tmp_path, pytest.fail)
    folder.write(at(-1), None)
    done = run("forget", "--before", "2026-09-21T12:00Z", "--journal", tmp_path)
    folder.close()

    assert done.returncode == 1
    assert "Left: 2026-09-21-" in done.stdout
    assert "stop that proxy" in done.stdout


def on_a_terminal(journal, answer, *more):
    """Run it with a terminal as stdin and type an answer; its exit code and what it asked."""
    ours, theirs = pty.openpty()
    arguments = ["forget", "--before", "2026-09-21T12:00Z", "--journal", str(journal), *more]
    try:
        os.write(ours, answer)
        done = subprocess.run(
            [sys.executable, "-m", "analysis", *arguments],
            cwd=PROJECT,
            env=environment(),
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return done


def test_a_terminal_is_asked(journal):
    """No is no, and exit 1; yes is done; --yes, and a pass that finds nothing, ask nothing."""
    before = there(journal)

    no = on_a_terminal(journal, b"n\n")
    assert (no.returncode, before) == (1, there(journal))
    assert "Would forget what began before 2026-09-21 12:00:00 UTC" in no.stderr
    assert "Forget 4 records for ever? There is no way back. [y/N]" in no.stderr
    assert no.stdout == ""
    yes = on_a_terminal(journal, b"y\n")
    assert (yes.returncode, yes.stdout[:6]) == (0, "Forgot")
    nothing = on_a_terminal(journal, b"")
    assert (nothing.returncode, nothing.stderr) == (0, "")


def test_yes_asks_nothing(journal):
    """For scripts that run on a terminal."""
    done = on_a_terminal(journal, b"", "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert OLD not in there(journal)
