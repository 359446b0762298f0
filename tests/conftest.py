"""What all tests share: the event loop that the product runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], uvloop.Loop]]:
    """uvloop, as in the product: half of what the relay must get right is how its loop behaves."""
    return {"uvloop": uvloop.new_event_loop}
