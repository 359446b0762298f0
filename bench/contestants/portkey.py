"""Portkey's gateway; the provider and its address are headers of each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Contestant

if TYPE_CHECKING:
    from .base import Place


def _command(place: Place) -> list[str]:
    return ["gateway", f"--port={place.port}", "--headless"]


def _headers(place: Place) -> tuple[str, ...]:
    return ("x-portkey-provider: openai", f"x-portkey-custom-host: {place.upstream}/v1")


PORTKEY: Final = Contestant(
    "portkey",
    "gateway",
    "npm install -g @portkey-ai/gateway",
    _command,
    keeps="meaning",
    headers=_headers,
    ready_s=60.0,
)
