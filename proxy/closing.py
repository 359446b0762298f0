"""How a connection is broken off so that the other side can tell.

One rule: a reset must be made. `abort()` alone sends a FIN, and a cut reply that ends with the connection
would look whole; lingering for zero seconds before it sends RST, but throws away what the kernel still
holds. So: let out what was written, for a bounded time, and then reset.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import select
import socket
import struct
import termios
from typing import Final

FLUSH_S: Final = 5.0
"""How long bytes already written may take to leave before a reset."""

UNREAD_BYTES: Final = 1024 * 1024
"""An early answer is short; what is longer than this was no early answer."""

_STEP_S: Final = 0.002
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
_SIOCOUTQ: Final = termios.TIOCOUTQ
"""On Linux a socket answers this with the bytes that its peer has not acknowledged (tcp(7))."""


def unread(transport: asyncio.BaseTransport) -> bytes:
    """What the peer had sent before a write to it failed: the loop gives up without reading that.

    An upstream may answer 413 and close while the request is still going out; its answer then stands in
    the kernel. Not over TLS, where it could not be deciphered any more. Never more than `UNREAD_BYTES`.
    """
    if transport.get_extra_info("ssl_object") is not None:
        return b""
    data = bytearray()
    with contextlib.suppress(OSError, AttributeError):
        handle = transport.get_extra_info("socket").fileno()
        while len(data) < UNREAD_BYTES and (piece := os.read(handle, 64 * 1024)):
            data += piece
    return bytes(data)


def was_reset(transport: asyncio.BaseTransport) -> bool:
    """Whether the peer has reset a connection that is not being read: the loop does not say it then.

    A FIN is none. The error stays on the socket for whoever reads next; SO_ERROR would take it off.
    """
    with contextlib.suppress(OSError, AttributeError):
        poll = select.poll()
        poll.register(transport.get_extra_info("socket").fileno(), 0)
        return any(events & select.POLLERR for _handle, events in poll.poll(0))
    return False


def reset(transport: asyncio.Transport) -> None:
    """End a connection with RST, now."""
    sock = transport.get_extra_info("socket")
    # A socket that is closed already raises: there is nothing left to reset.
    with contextlib.suppress(OSError, AttributeError, TypeError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    transport.abort()


async def drain_then_reset(transport: asyncio.Transport) -> None:
    """End a connection with RST, after what was written has reached the peer's kernel."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + FLUSH_S
    # The kernel has no event for "its queue is empty".
    while (  # noqa: ASYNC110
        loop.time() < deadline and not transport.is_closing() and unsent(transport)
    ):
        await asyncio.sleep(_STEP_S)
    reset(transport)


def unsent(transport: asyncio.Transport) -> bool:
    """Whether anything that was written has not reached the peer's kernel."""
    if transport.get_write_buffer_size():
        return True
    try:
        handle = transport.get_extra_info("socket").fileno()
        left = fcntl.ioctl(handle, _SIOCOUTQ, struct.pack("i", 0))
    except (OSError, ValueError, AttributeError):
        return False
    return bool(struct.unpack("i", left)[0])
