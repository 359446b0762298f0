"""A real inference server on loopback: llama.cpp's own, in a process of its own.

One rule: what a caller gets is a base URL that answers; when the block ends, nothing is left of it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .child import ROOT, ChildError, child, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEMPLATE: Final = ROOT / "demo" / "template.jinja"
"""SmolLM2's own template drops `tools` without a word; this one renders them, as other models' do."""

_READY_S: Final = 90.0

# By default the server's threads spin while they wait for each other. With another busy process on two
# cores, decode fell from 55 tokens a second to 2; asleep while they wait, they keep 33 and more.
_ENVIRONMENT: Final = {"OMP_WAIT_POLICY": "passive"}


@dataclass(frozen=True, slots=True)
class Setup:
    """What to serve, and with how much of the machine."""

    model: Path
    alias: str
    """The model's name in requests."""
    threads: int = 1
    """Threads that compute."""
    context: int = 4096
    """Tokens that all slots have together."""
    slots: int = 1
    """Requests that run at the same time."""
    port: int = 0
    """Where on loopback; 0: a free port."""


@contextlib.contextmanager
def serving(setup: Setup, log: Path) -> Iterator[str]:
    """Run the server while the block runs; gives its base URL, without a path.

    Raises ChildError when it does not come up.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise ChildError("the package xllamacpp with llama.cpp's server is missing: make install")
    options = {
        "--model": setup.model,
        "--alias": setup.alias,
        "--template": TEMPLATE,
        "--threads": setup.threads,
        "--context": setup.context,
        "--slots": setup.slots,
        "--port": setup.port,
    }
    flags = [str(word) for option in options.items() for word in option]
    with child([sys.executable, "-m", "demo.llama", *flags], log, _ENVIRONMENT) as process:
        try:
            said = first_line(process, log, _READY_S)
        except ChildError as error:
            raise ChildError(f"llama.cpp's server did not start: {error}") from None
        yield said.removeprefix("READY ").strip()
