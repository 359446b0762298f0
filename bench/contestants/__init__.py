"""The contestants, one file each.

One rule: a new one is a file and a row here. What is not installed is named with the command that
installs it, and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .aiohttp_plain import AIOHTTP
from .base import Contestant, Keeps, Place
from .direct import DIRECT
from .haproxy import HAPROXY
from .litellm import LITELLM
from .mitmproxy import MITMPROXY
from .nginx import NGINX
from .portkey import PORTKEY
from .turnscope import TURNSCOPE

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALL", "DIRECT", "NGINX", "TURNSCOPE", "Contestant", "Keeps", "Place"]

ALL: Final[Mapping[str, Contestant]] = {
    each.name: each
    for each in (DIRECT, NGINX, HAPROXY, TURNSCOPE, AIOHTTP, MITMPROXY, LITELLM, PORTKEY)
}
