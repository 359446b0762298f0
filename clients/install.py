"""Brings a client about: npm, or pip in an environment of its own, below `.cache/clients/`.

One rule: what is installed is what its lock says. A stamp holds the lock's hash, so it is done once and
done anew when the lock changes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from demo.child import ROOT
from demo.tiny import CACHE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .catalog import Client

FOLDER: Final = CACHE / "clients"
"""All that this package writes: a folder for each client."""

_LOCKS: Final = ROOT / "clients"
_INSTALL_S: Final = 1800.0
_NPM: Final = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
"""Not `npm ci`: it refuses a lock that lacks what the registry lacks, packages for other platforms."""


class InstallError(Exception):
    """A client that cannot be had: the message says why, and what to do."""


def place(client: Client) -> Path:
    """Where a client is installed."""
    return FOLDER / client.folder / "install"


def installed(client: Client) -> str:
    """Install it, unless it is there. Gives its version. Raises InstallError."""
    if client.registry == "ours":
        return _ours(client.folder)
    lock = _lock(client)
    target, want = place(client), hashlib.sha256(lock.read_bytes()).hexdigest()
    stamp = target / "lock.sha256"
    if not stamp.exists() or stamp.read_text("ascii") != want:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        if client.registry == "npm":
            _npm(lock, target)
        else:
            _pip(lock, target)
        stamp.write_text(want, "ascii")
    return _npm_version(client) if client.registry == "npm" else _pip_version(client)


def _lock(client: Client) -> Path:
    if client.registry == "npm":
        return _LOCKS / "npm" / client.folder / "package-lock.json"
    return _LOCKS / "pip" / f"{client.folder}.txt"


def _npm(lock: Path, target: Path) -> None:
    if shutil.which("npm") is None:
        raise InstallError("npm is missing: install Node.js 20 or newer with npm")
    for name in ("package.json", lock.name):
        shutil.copy(lock.with_name(name), target)
    _call(_NPM, target)


def _pip(lock: Path, target: Path) -> None:
    venv = target / "venv"
    _call([sys.executable, "-m", "venv", str(venv)], target)
    python = str(venv / "bin" / "python")
    uv = Path(sys.executable).with_name("uv")
    fast = [str(uv), "pip", "install", "--quiet", "--python", python]
    slow = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # The hashes in a lock are checked without being asked for, by pip and uv alike.
    _call([*(fast if uv.exists() else slow), "-r", str(lock)], target)


def _call(command: Sequence[str], folder: Path) -> None:
    log = folder / "install.log"
    with log.open("ab") as out:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=_INSTALL_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InstallError(f"{command[0]} took over {_INSTALL_S:.0f} s; see {log}") from None
    if done.returncode:
        raise InstallError(f"{Path(command[0]).name} failed with {done.returncode}; see {log}")


def _ours(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise InstallError(f"the package {name} is missing: make install") from None


def _npm_version(client: Client) -> str:
    file = place(client) / "node_modules" / client.package / "package.json"
    return str(orjson.loads(file.read_bytes())["version"])


def _pip_version(client: Client) -> str:
    python = place(client) / "venv" / "bin" / "python"
    code = f"import importlib.metadata as m; print(m.version({client.package!r}))"
    done = subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()
