"""Rank files: put where tiktoken finds them, whole, whoever else does the same, and without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from proxy import ranks

PROJECT = Path(ranks.__file__).parents[1]
UNPACK = (
    "import sys; from pathlib import Path; from proxy import ranks; ranks.unpack(Path(sys.argv[1]))"
)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    assert ranks.Ranks(folder) == ranks.unpack(folder)
    return folder


def names(folder):
    """The files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_files_stand_under_the_names_that_tiktoken_looks_for(folder):
    """One file for each encoding, each named by the SHA-1 of tiktoken's address, and nothing else."""
    assert names(folder) == sorted(
        ["fb374d419588a4632f3f557e76b4b70aebbca790", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"]
    )


@pytest.mark.parametrize("encoding", ranks.ENCODINGS)
def test_tiktoken_takes_the_files(folder, monkeypatch, encoding):
    """An encoding loads from the folder: tiktoken's own check of the hash is passed."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    encoder = ranks.load(encoding)
    assert encoder is not None
    assert len(encoder.encode_ordinary("hello world")) == 2


def test_an_encoding_without_its_file_is_not_asked_for(tmp_path, monkeypatch):
    """Without the file tiktoken would turn to the network, so there is no encoder instead."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert ranks.load("o200k_base") is None
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    assert ranks.load("o200k_base") is None


def test_whole_files_stay_untouched(folder):
    """A second start writes nothing."""
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    ranks.unpack(folder)
    assert before == {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("content", [b"", b"torn", None], ids=["empty", "torn", "flipped byte"])
def test_a_damaged_file_is_replaced(tmp_path, folder, content):
    """A damaged file would send tiktoken to the network, so it is written anew."""
    name = ranks.file_name("cl100k_base")
    whole = (folder / name).read_bytes()
    (tmp_path / name).write_bytes(b"!" + whole[1:] if content is None else content)

    ranks.unpack(tmp_path)

    assert whole == (tmp_path / name).read_bytes()


def test_processes_may_race(tmp_path, folder):
    """Processes that start at once leave the two whole files and no temporary one."""
    target = tmp_path / "not" / "there" / "yet"
    racers = [
        subprocess.Popen([sys.executable, "-c", UNPACK, str(target)], cwd=PROJECT) for _ in range(4)
    ]
    assert [racer.wait(60) for racer in racers] == [0] * 4
    assert names(folder) == names(target)
    for name in names(folder):
        assert (folder / name).read_bytes() == (target / name).read_bytes()


def test_a_folder_that_cannot_be_written_is_said_and_counting_is_off(tmp_path):
    """The problem names the folder, the system's reason and the remedy; the recorder gets no folder."""
    (tmp_path / "file").write_text("in the way")
    folder = tmp_path / "file" / "tiktoken"

    found = ranks.unpack(folder)

    assert str(folder) in found.problem
    assert "Not a directory" in found.problem
    assert "XDG_CACHE_HOME" in found.problem
    assert found.environment == {}


def test_a_failed_write_leaves_no_temporary_file(tmp_path):
    """Whatever stops the rename, the folder holds nothing half done."""
    (tmp_path / ranks.file_name("o200k_base")).mkdir()
    found = ranks.unpack(tmp_path)
    assert found.problem
    assert [ranks.file_name("o200k_base")] == names(tmp_path)


def test_the_recorder_gets_the_folder_in_its_environment(tmp_path):
    """The tokenizer reads the folder from the environment of the process that counts."""
    assert ranks.Ranks(tmp_path).environment == {"TIKTOKEN_CACHE_DIR": str(tmp_path)}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/turnscope/tiktoken"),
        ({"HOME": "/h"}, "/h/.cache/turnscope/tiktoken"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/turnscope/tiktoken"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/turnscope/tiktoken"),
    ],
)
def test_cache_folder_follows_the_xdg_specification(environ, expected):
    """A relative XDG_CACHE_HOME is invalid and ignored, as the specification says."""
    assert Path(expected) == ranks.cache_folder(environ)
