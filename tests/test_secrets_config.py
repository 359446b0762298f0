"""Credentials in a config or on the command line that is refused: the fault is named, the value is not."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from proxy.command import turnscope_proxy
from tests.support.plants import Plants
from tests.support.program import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def plant() -> Plants:
    """A field to plant in."""
    return Plants()


CONFIGS = {
    "userinfo": "[[route]]\nupstream = 'http://me:{0}@host:8000'",
    "userinfo without a name": "[[route]]\nupstream = 'https://{0}@host'",
    "query": "[[route]]\nupstream = 'http://host/v1?api_key={0}'",
    "fragment": "[[route]]\nupstream = 'http://host#{0}'",
    "listen": "[[route]]\nlisten = 'me:{0}@0.0.0.0:8484'",
    "unknown key": "[[route]]\napi_key = '{0}'",
    "header": "[[route]]\nheaders = {{ Authorization = 'Bearer {0}' }}",
    "table": "[auth]\ntoken = '{0}'",
    "wrong type": "[recorder]\nnice = 'Bearer {0}'",
    "broken line": "[[route]]\nkey = Bearer {0}",
    "allow": "[[route]]\nallow = ['{0}']",
    "allow with a size": "[[route]]\nallow = ['{0}/24']",
    "label that is too long": "[[route]]\nlabel = '{0}{0}{0}'",
}


@pytest.mark.parametrize("place", CONFIGS)
def test_no_key_of_a_refused_config_is_printed(tmp_path: Path, plant: Plants, place: str):
    """The fault is named with its key; the value is not."""
    file = tmp_path / "config.toml"
    file.write_text(CONFIGS[place].format(plant(place)))

    done = CliRunner().invoke(turnscope_proxy, ["--check", "--config", str(file)])

    assert 2 == done.exit_code
    assert done.stderr
    assert [] == plant.found_in(done.output.encode())


def test_no_key_of_a_refused_start_is_printed(tmp_path: Path, plant: Plants):
    """The same for the program itself, with all that can be wrong at once."""
    file = tmp_path / "config.toml"
    routes = ("userinfo", "query", "listen", "unknown key", "header", "allow")
    file.write_text("\n".join(CONFIGS[place].format(plant(place)) for place in routes))
    command = [sys.executable, "-m", "proxy", "--config", str(file)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=30, check=False)

    assert 2 == done.returncode
    assert b"7 faults" in done.stderr
    assert [] == plant.found_in(done.stdout + done.stderr)


@pytest.mark.parametrize("flag", ["--upstream", "--listen"])
def test_no_key_on_the_command_line_is_printed(plant: Plants, flag: str):
    """A URL with credentials given as a flag."""
    done = CliRunner().invoke(turnscope_proxy, ["--check", flag, f"http://me:{plant(flag)}@host"])

    assert 2 == done.exit_code
    assert [] == plant.found_in(done.output.encode())
