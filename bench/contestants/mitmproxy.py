"""mitmdump as a reverse proxy that streams bodies and prints nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Contestant

if TYPE_CHECKING:
    from .base import Place


def _command(place: Place) -> list[str]:
    listen = ["--listen-host", "127.0.0.1", "--listen-port", str(place.port)]
    options = [f"confdir={place.folder}", "stream_large_bodies=1", "flow_detail=0"]
    settings = [word for option in options for word in ("--set", option)]
    return ["mitmdump", "--quiet", "--mode", f"reverse:{place.upstream}", *listen, *settings]


MITMPROXY: Final = Contestant(
    "mitmproxy", "mitmdump", "pip install mitmproxy", _command, version=("mitmdump", "--version")
)
