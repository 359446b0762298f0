"""turnscope with everything on: recorder, tokens, journal on disk.

One rule: all settings are the defaults, but that it says no line for each exchange, as nobody here logs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .base import Contestant

if TYPE_CHECKING:
    from .base import Place

_PROGRAM: Final = str(Path(sys.executable).with_name("turnscope-proxy"))


def _command(place: Place) -> list[str]:
    ends = ["--listen", f"127.0.0.1:{place.port}", "--upstream", place.upstream]
    return [_PROGRAM, *ends, "--journal", str(place.folder / "journal"), "--quiet"]


TURNSCOPE: Final = Contestant(
    "turnscope",
    _PROGRAM,
    "make install",
    _command,
    keeps="bytes",
    version=(_PROGRAM, "--version"),
)
