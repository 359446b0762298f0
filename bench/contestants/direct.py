"""Nothing between client and upstream: what is taken off all others."""

from __future__ import annotations

from typing import Final

from .base import Contestant

DIRECT: Final = Contestant("direct", program="", install="", command=None, keeps="bytes")
