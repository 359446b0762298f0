"""The frame around the code: the targets of make, what installs them, and the locks they install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib

import pytest

from tests.support.source import ROOT

LOCKS = ("run", "dev", "real", "uv")
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def make(*arguments, folder=ROOT):
    """Run make as a person would, without the settings of a make around this test run."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", "-C", folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60)


def install(python, folder):
    """Run the installer with this interpreter."""
    command = ["sh", ROOT / "requirements" / "install.sh", python, folder / "venv"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def lock(name):
    """A lock's text."""
    return (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")


@pytest.fixture
def checkout(tmp_path):
    """A checkout in which all is installed: the Makefile, its locks and a fresh stamp."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".ready").touch()
    return tmp_path


def script(path, text):
    """A program that stands for another one's answers."""
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_make_alone_lists_every_target():
    """`make` without a target lists all targets that there are, each with a sentence."""
    declared = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)

    listed = re.findall(r"^  make ([a-z]+) +\S.{10,}$", make().stdout, re.MULTILINE)

    assert listed == declared[1].split()


@pytest.mark.parametrize("target", ["run", "demo", "analyze", "test", "check", "fmt", "lock"])
def test_every_other_target_brings_the_environment_about(checkout, target):
    """Any target that needs the environment makes it first."""
    (checkout / ".venv" / ".ready").unlink()

    assert "requirements/install.sh" in make("-n", target, folder=checkout).stdout


def test_what_is_installed_is_not_installed_again(checkout):
    """A second `make install` has nothing to do."""
    assert make("-q", "install", folder=checkout).returncode == 0


@pytest.mark.parametrize(
    "file", ["pyproject.toml", "requirements/dev.txt", "requirements/real.txt"]
)
def test_a_changed_lock_is_installed(checkout, file):
    """A lock or a project description newer than the environment makes it anew."""
    later = (checkout / ".venv" / ".ready").stat().st_mtime + 10
    os.utime(checkout / file, (later, later))

    assert make("-q", "install", folder=checkout).returncode == 1


def test_run_takes_the_configuration_that_is_there(checkout):
    """`make run` uses config.toml if it exists, and no configuration otherwise."""
    without = make("-n", "run", folder=checkout).stdout
    (checkout / "config.toml").touch()

    assert "--config" not in without
    assert "--config config.toml" in make("-n", "run", folder=checkout).stdout


def test_an_old_python_is_refused_with_the_remedy(tmp_path):
    """A Python below 3.11 is named, and so is what to type instead."""
    old = script(tmp_path / "python", '[ "$1" = --version ] && echo Python 3.9.2 || exit 1')

    done = install(old, tmp_path)

    assert done.returncode == 1
    assert done.stderr == (
        "turnscope: Python 3.11 or newer is needed, Python 3.9.2 is too old:"
        " make install PYTHON=python3.12\n"
    )


def test_a_python_without_venv_is_refused_with_the_remedy(tmp_path):
    """Debian's bare python3 lacks ensurepip: the package to install is named."""
    bare = script(tmp_path / "python", 'case "$2" in *ensurepip*) exit 1 ;; esac')

    done = install(bare, tmp_path)

    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr


def test_a_missing_python_is_said(tmp_path):
    """Without any Python there is one sentence, not a shell's complaint."""
    done = install("python-that-is-not-here", tmp_path)

    assert done.returncode == 1
    assert done.stderr.startswith("turnscope: there is no python-that-is-not-here here")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_hashes_and_names_no_place(name):
    """Each package is pinned by hash, and no lock says from where to take it."""
    text = lock(name)
    blocks = re.split(r"\n(?=\S)", re.sub(r"(?m)^\s*#.*\n", "", text).strip())

    assert all(PINNED.match(block) and "--hash=sha256:" in block for block in blocks)
    assert not re.search(r"https?:|file:|index|find-links", text)


@pytest.mark.parametrize("name", ["run", "dev"])
def test_a_lock_holds_all_that_the_project_names(name):
    """Each dependency of pyproject.toml is locked: a forgotten `make lock` is seen here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = project["project"]["dependencies"]
    wanted = wanted + (project["dependency-groups"]["dev"] if name == "dev" else [])

    assert {re.match(r"[\w.-]+", w)[0] for w in wanted} <= dict(PINNED.findall(lock(name))).keys()


def test_what_runs_is_what_is_tested():
    """The lock of the product is part of the lock of the tests, version by version."""
    assert dict(PINNED.findall(lock("run"))).items() <= dict(PINNED.findall(lock("dev"))).items()


def test_the_ci_script_can_be_run():
    """`.ci/run` is executable and valid shell."""
    path = ROOT / ".ci" / "run"

    assert os.access(path, os.X_OK)
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0
