"""A model's own tokenizer out of its `tokenizer.json`, for who has the file and a server that does not count.

One rule: the words of special tokens are text, as for every other encoder here. The library is an optional
extra: without it the proxy starts as long as no file is configured.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from .journal.tokens import Encoder


class FileEncoder:
    """An encoder as the counter wants it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True
        self._tokenizer.no_truncation()  # a file may hold the length of its training

    def encode_ordinary(self, text: str) -> list[int]:
        """The tokens of a text."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def load(path: Path) -> Encoder | None:
    """The encoder; None if the file is not to be read: `fault` says why, before anything starts."""
    if fault(path):
        return None
    return FileEncoder(_read(path))


def name(path: Path) -> str:
    """What a count with this file is from: `tokenizer.json` and whose it is, by its folder."""
    folder = path.absolute().parent.name
    return f"{path.name} {folder}" if path.name == "tokenizer.json" else path.name


def fault(path: Path) -> str | None:
    """Why nothing can be counted with this file, and what to do; None if all is well."""
    key = "tokenizer.file"
    if importlib.util.find_spec("tokenizers") is None:
        return (
            f'{key}: needs the package tokenizers; install it: pip install "turnscope[tokenizer]"'
        )
    try:
        _read(path)
    except Exception as error:  # noqa: BLE001 - the library raises plain Exception for every fault
        reason = str(error).splitlines()[0][:120]
        return f"{key}: {path} is no tokenizer.json that can be read ({reason}); name another"
    return None


def _read(path: Path) -> Any:
    library: Any = importlib.import_module("tokenizers")  # an optional extra: not there for mypy
    return library.Tokenizer.from_file(str(path))
