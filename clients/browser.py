"""Open WebUI and a browser on it: `python -m clients.browser OPEN-WEBUI QUESTION`.

One rule: of the page only two things are known. Its address takes the question, and its button to send has
a name; the rest may look as it likes.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import orjson
from websockets.sync.client import connect

from demo.child import ChildError, child, leashed
from demo.proxied import free_port
from demo.tiny import ALIAS

if TYPE_CHECKING:
    from collections.abc import Callable

_READY_S: Final = 180.0
"""Its first start makes a database, and looks in vain for a model that it would fetch."""
_TURN_S: Final = 45.0
"""The answer, then its follow-ups and tags; how far it is cannot be seen from here."""
_RETRY_S: Final = 0.5
_END_S: Final = 20.0

_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_FLAGS: Final = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run")

_SEND: Final = """\
(button => { if (!button || button.disabled) return false; button.click(); return true; })
(document.getElementById("send-message-button"))"""


def main(program: str, question: str) -> None:
    """Start both, send, wait, and end both."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        sys.exit("Chromium is missing: install it from the system's packages")
    home, port, steering = Path.home(), free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    serve = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
    page = f"{url}/?{urlencode({'models': ALIAS, 'q': question})}"
    own = [f"--user-data-dir={home / 'browser'}", f"--remote-debugging-port={steering}"]
    # It ends by the signal that ends it, and says so by its exit code.
    with contextlib.suppress(ChildError), child(leashed(serve), home / "open-webui.log"):
        _until(lambda: _get(f"{url}/health"), "Open WebUI")
        with (home / "browser.log").open("wb") as log:
            process = subprocess.Popen([browser, *_FLAGS, *own, page], stdout=log, stderr=log)
        try:
            _until(lambda: _sent(f"http://127.0.0.1:{steering}/json/list"), "the page")
            time.sleep(_TURN_S)
        finally:
            process.terminate()
            process.wait(_END_S)


def _until(ready: Callable[[], Any], what: str) -> None:
    deadline = time.perf_counter() + _READY_S
    while time.perf_counter() < deadline:
        with contextlib.suppress(OSError):
            if ready():
                return
        time.sleep(_RETRY_S)
    sys.exit(f"{what} was not ready within {_READY_S:.0f} s")


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310 -- our own http address
        body: bytes = reply.read()
    return body


def _sent(pages: str) -> bool:
    """Press the button to send, by Chromium's DevTools protocol; False while there is none."""
    own = [page for page in orjson.loads(_get(pages)) if page["type"] == "page"]
    if not own:
        return False
    with connect(own[0]["webSocketDebuggerUrl"], max_size=None) as devtools:
        asked = {"id": 1, "method": "Runtime.evaluate", "params": {"expression": _SEND}}
        devtools.send(orjson.dumps(asked).decode())
        told = orjson.loads(devtools.recv(timeout=_END_S))
    return bool(told.get("result", {}).get("result", {}).get("value"))


if __name__ == "__main__":
    main(*sys.argv[1:])
