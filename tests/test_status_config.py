"""The key and the flag that say where the status pages are."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from proxy.address import Address
from proxy.command import turnscope_proxy
from proxy.config import Config, ConfigError, Flags
from proxy.configfile import load


def faults(path, flags=None):
    """What a config is refused for."""
    with pytest.raises(ConfigError) as refusal:
        load(path, flags)
    return [str(fault) for fault in refusal.value.faults]


@pytest.fixture
def write(tmp_path):
    """A config file with this text."""

    def write(text):
        file = tmp_path / "config.toml"
        file.write_text(text)
        return file

    return write


def test_they_are_on_and_nowhere_in_particular():
    """So that a port that is taken can be told from one that was asked for."""
    assert (True, None) == (Config().status.enabled, Config().status.listen)


def test_the_flag_wins(write):
    """An address switches them on, `off` switches them off; the file's other words stay."""
    off, on = write("[status]\nenabled = false\n"), Address("::1", 9)

    assert (True, on) == as_pair(load(off, Flags(status="[::1]:9")))
    named = write('[status]\nlisten = "127.0.0.1:7"\n')
    assert (False, Address("127.0.0.1", 7)) == as_pair(load(named, Flags(status="off")))
    assert (True, Address("127.0.0.1", 7)) == as_pair(load(named))


def as_pair(config):
    """The two keys."""
    return config.status.enabled, config.status.listen


@pytest.mark.parametrize("value", ["", "8485", "nowhere", "http://127.0.0.1:8485", "h:99999"])
def test_what_is_no_address_is_refused_by_its_name(value):
    """The flag's, where it came from the flag."""
    assert faults(None, Flags(status=value))[0].startswith("--status: ")


@pytest.mark.parametrize("listen", ["127.0.0.1:8484", "0.0.0.0:8484", "localhost:8000"])
def test_they_cannot_be_where_a_route_is(write, listen):
    """Neither its listener nor its upstream."""
    (fault,) = faults(write(f'[status]\nlisten = "{listen}"\n'))

    assert fault.startswith(f"status.listen: {listen} is taken by route[0]")
    assert "a port of their own" in fault
    assert load(write(f'[status]\nenabled = false\nlisten = "{listen}"\n'))


@pytest.mark.parametrize(
    ("flag", "plan"),
    [
        ("off", "no status pages"),
        ("127.0.0.1:7", "status pages at 127.0.0.1:7"),
        ("0.0.0.0:7", "warning: whoever reaches the status pages can read"),
    ],
)
def test_a_check_says_where_they_would_be(tmp_path, flag, plan):
    """And who else could read them."""
    arguments = ["--check", "--journal", str(tmp_path), "--status", flag]
    done = CliRunner().invoke(turnscope_proxy, arguments)

    assert plan in done.output
    assert 0 == done.exit_code
