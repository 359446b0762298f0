"""A server that speaks enough of Gemini's API for one turn: `python -m clients.scripted_gemini`.

One rule: whatever is asked, the answer is one short sentence, or the least that fits the schema asked for
(a client that gets none asks again and again). It bills nothing: a made-up bill would be held against real
counts. It ends when its standard input does.
"""

from __future__ import annotations

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import orjson

_ANSWER: Final = ("Hello. ", "How can I ", "help?")


class _Handler(BaseHTTPRequestHandler):
    """Method names are those of http.server."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = orjson.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
        method = self.path.partition("?")[0].rpartition(":")[2]
        if method == "streamGenerateContent":
            pieces = [*map(_piece, _ANSWER[:-1]), _piece(_ANSWER[-1], "STOP")]
            events = b"".join(b"data: " + orjson.dumps(piece) + b"\r\n\r\n" for piece in pieces)
            self._reply(200, "text/event-stream", events)
        elif method == "generateContent":
            self._json(200, _piece(_answer(asked.get("generationConfig", {})), "STOP"))
        elif method == "countTokens":
            self._json(200, {"totalTokens": 1})
        else:
            self._json(404, {"error": {"code": 404, "message": "no such method"}})

    def do_GET(self) -> None:
        self._json(404, {"error": {"code": 404, "message": "no such method"}})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- http.server's name
        """Nothing: the proxy's journal says what was asked."""

    def _json(self, status: int, value: object) -> None:
        self._reply(status, "application/json", orjson.dumps(value))

    def _reply(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _answer(config: dict[str, Any]) -> str:
    schema = config.get("responseJsonSchema")
    return orjson.dumps(_least(schema)).decode() if schema else "".join(_ANSWER)


def _least(schema: dict[str, Any]) -> object:
    """The least that fits a schema of objects, numbers, enumerations and texts."""
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        return {name: _least(fields[name]) for name in schema.get("required", fields)}
    if schema.get("type") in {"integer", "number"}:
        return schema.get("minimum", 1)
    return schema.get("enum", ["none"])[0]


def _piece(text: str, finish: str | None = None) -> dict[str, object]:
    candidate: dict[str, object] = {
        "content": {"role": "model", "parts": [{"text": text}]},
        "index": 0,
    }
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "scripted"}


def main() -> None:
    """Serve on a free port of loopback until standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"READY http://127.0.0.1:{server.server_port}", flush=True)
    while os.read(sys.stdin.fileno(), 4096):
        pass
    server.shutdown()


if __name__ == "__main__":
    main()
