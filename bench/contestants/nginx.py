"""nginx, set up for streams: unbuffered both ways, kept-alive upstreams, no log; one worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Contestant

if TYPE_CHECKING:
    from .base import Place

CONFIG: Final = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 1g;
  keepalive_requests 1000000;
  upstream server {{ server 127.0.0.1:{upstream}; keepalive 512; keepalive_requests 1000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://server;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 300s;
    }}
  }}
}}
"""


def _command(place: Place) -> list[str]:
    text = CONFIG.format(folder=place.folder, port=place.port, upstream=place.upstream_port)
    config = place.write("nginx.conf", text)
    return ["nginx", "-p", str(place.folder), "-e", "stderr", "-c", config]


NGINX: Final = Contestant(
    "nginx", "nginx", "apt-get install nginx", _command, version=("nginx", "-v")
)
