"""A scripted server that counts, or does not: each path answered by a function, on a real socket.

It runs in threads of its own, because who asks it blocks in a loop of its own.
"""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson


class Script:
    """A server that answers each path by a function; it keeps what it was asked."""

    def __init__(self, **paths):
        self.paths = {"/" + name.replace("__", "/"): answer for name, answer in paths.items()}
        self.asked = []
        """Path, headers and body of each request, in order."""

    def answer(self, path, headers, body):
        """Status and body for a request."""
        self.asked.append((path, headers, orjson.loads(body)))
        function = self.paths.get(path, lambda _body: (404, b"{}"))
        return function(orjson.loads(body))


@contextlib.contextmanager
def serving(script):
    """Run a script on loopback; gives its authority."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, reply = script.answer(self.path, dict(self.headers), body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            if status == 302:
                self.send_header("Location", f"http://{self.headers['Host']}/elsewhere")
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(reply)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def words(body):
    """A count as llama.cpp says it: the words of all contents, and two for the template."""
    texts = [m["content"] for m in body["messages"]] + [str(t) for t in body.get("tools", [])]
    return 200, orjson.dumps({"input_tokens": 2 + len(" ".join(texts).split())})
