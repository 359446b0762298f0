"""Configs written to disk, and what is said when one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proxy.config import ConfigError
from proxy.configfile import load

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.config import Flags


def written(folder: Path, text: str | bytes) -> Path:
    """The path of a config with that text."""
    file = folder / "config.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def faults(path: Path | None, flags: Flags | None = None) -> list[str]:
    """The faults that a refusal names, one a line. Fails if nothing is refused."""
    with pytest.raises(ConfigError) as refused:
        load(path, flags)
    assert str(refused.value).splitlines() == [str(fault) for fault in refused.value.faults]
    return [str(fault) for fault in refused.value.faults]
