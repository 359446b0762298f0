"""HAProxy in HTTP mode with one thread, kept-alive upstreams and no log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Contestant

if TYPE_CHECKING:
    from .base import Place

CONFIG: Final = """\
global
  nbthread 1
  maxconn 8192
defaults
  mode http
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 300s
  timeout server 300s
frontend client
  bind 127.0.0.1:{port} backlog 4096
  default_backend server
backend server
  server upstream 127.0.0.1:{upstream}
"""


def _command(place: Place) -> list[str]:
    text = CONFIG.format(port=place.port, upstream=place.upstream_port)
    return ["haproxy", "-db", "-f", place.write("haproxy.cfg", text)]


HAPROXY: Final = Contestant(
    "haproxy", "haproxy", "apt-get install haproxy", _command, version=("haproxy", "-v")
)
