"""A place where there is only loopback, and where nothing outlives the turn: Linux namespaces.

One rule: what cannot be shut in does not run. A client that reaches its vendor would tell of this machine
and would be told what to do next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
from typing import Final

_UNSHARE: Final = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
_AS_ROOT: Final = ("--user", "--map-root-user")

# linux/sockios.h and linux/if.h
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1
_IFREQ: Final = struct.Struct("16sh14x")

LOOPBACK: Final = "lo"


class IsolationError(Exception):
    """There can be no such place: the message says why, and what to do."""


def prefix() -> list[str]:
    """What stands in front of a command that is to run there. Raises IsolationError.

    The process ids are its own too: when its first process ends, the kernel ends all others, whatever
    they did to get away (some clients leave a daemon behind).
    """
    if shutil.which(_UNSHARE[0]) is None:
        raise IsolationError(_refusal("there is no unshare (util-linux) here"))
    command = [*_UNSHARE, *(() if os.geteuid() == 0 else _AS_ROOT)]
    done = subprocess.run(
        [*command, "true"], capture_output=True, text=True, check=False, timeout=20
    )
    if done.returncode:
        raise IsolationError(_refusal(done.stderr.strip() or "unshare failed"))
    return command


def _refusal(why: str) -> str:
    return (
        f"no network namespace can be made: {why}. Without one a client could reach out, so none is"
        " started; run as root or allow user namespaces, or say --no-namespace"
    )


def close_off() -> None:
    """Bring loopback up, in a fresh namespace. Raises IsolationError when it is not alone there."""
    names = {name for _, name in socket.if_nameindex()}
    if names != {LOOPBACK}:
        raise IsolationError(f"this is no place with loopback alone: {', '.join(sorted(names))}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        asked = _IFREQ.pack(LOOPBACK.encode(), 0)
        name, flags = _IFREQ.unpack(fcntl.ioctl(probe, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(probe, _SIOCSIFFLAGS, _IFREQ.pack(name, flags | _IFF_UP))
