"""A server that speaks enough of OpenAI's Responses over WebSocket: `python -m clients.scripted_responses`.

One rule: each `response.create` gets one short message, and one that asks for no output gets none. It
bills nothing: a made-up bill would be held against real counts. It ends when its standard input does.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

import orjson
from websockets.sync.server import ServerConnection, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from websockets.http11 import Request, Response

_ANSWER: Final = ("Hello. ", "How can I ", "help?")


def main() -> None:
    """Serve on a free port of loopback until standard input ends."""
    with serve(_converse, "127.0.0.1", 0, process_request=_unless_upgrade, max_size=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"READY http://127.0.0.1:{server.socket.getsockname()[1]}", flush=True)
        while os.read(sys.stdin.fileno(), 4096):
            pass
        server.shutdown()


def _unless_upgrade(connection: ServerConnection, request: Request) -> Response | None:
    """The answer to a plain GET; None: it asked for a WebSocket."""
    if "websocket" in request.headers.get("Upgrade", "").lower():
        return None
    return connection.respond(404, '{"error": {"message": "only a WebSocket here"}}')


def _converse(connection: ServerConnection) -> None:
    numbers = itertools.count(1)
    for message in connection:
        asked = orjson.loads(message)
        if asked.get("type") == "response.create":
            for event in _events(f"resp_{next(numbers)}", asked):
                connection.send(orjson.dumps(event).decode())


def _events(name: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    response: dict[str, Any] = {
        "id": name,
        "object": "response",
        "model": asked.get("model"),
        "output": [],
    }
    order = itertools.count()

    def event(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "sequence_number": next(order), **more}

    yield event("created", response={**response, "status": "in_progress"})
    if asked.get("generate") is not False:
        item = {"id": f"msg_{name}", "type": "message", "role": "assistant"}
        yield event("output_item.added", output_index=0, item={**item, "content": []})
        where = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        for piece in _ANSWER:
            yield event("output_text.delta", **where, delta=piece)
        said = {"type": "output_text", "text": "".join(_ANSWER), "annotations": []}
        whole = {**item, "status": "completed", "content": [said]}
        yield event("output_item.done", output_index=0, item=whole)
        response["output"] = [whole]
    yield event("completed", response={**response, "status": "completed"})


if __name__ == "__main__":
    main()
