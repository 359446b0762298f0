"""Real inference servers for tests: llama.cpp's own, on loopback, one for each run of pytest.

A test module that wants them says `pytest_plugins = ("tests.support.real_server",)`. One thread each:
the proxy, the client and the recorder need the rest of a small machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from demo import tiny
from demo.models import SMOLLM2, smollm2
from demo.server import Setup, serving


@dataclass(frozen=True)
class RealServer:
    """A server that answers."""

    url: str
    """Scheme, host and port; the API is below `/v1`."""
    model: str
    """The name to ask for."""


@pytest.fixture(scope="session")
def tiny_server(tmp_path_factory):
    """Random words at a high speed: for all that counts tokens, times and bytes, not meaning."""
    setup = Setup(tiny.tiny_model(smollm2()), tiny.ALIAS, context=32_768, slots=4)
    with serving(setup, tmp_path_factory.mktemp("tiny") / "server.log") as url:
        yield RealServer(url, tiny.ALIAS)


@pytest.fixture(scope="session")
def long_server(tmp_path_factory):
    """The same model with all of its context for one request: for prompts of 20,000 tokens."""
    setup = Setup(tiny.tiny_model(smollm2()), tiny.ALIAS, context=32_768, slots=1)
    with serving(setup, tmp_path_factory.mktemp("long") / "server.log") as url:
        yield RealServer(url, tiny.ALIAS)


@pytest.fixture(scope="session")
def smollm2_server(tmp_path_factory):
    """English sentences that end by themselves: for a few short prompts, 100 tokens a second."""
    with serving(
        Setup(smollm2(), SMOLLM2), tmp_path_factory.mktemp("smollm2") / "server.log"
    ) as url:
        yield RealServer(url, SMOLLM2)
