"""What all tests share: the event loop that the product runs on, and how deep a law is looked into.

`HYPOTHESIS_PROFILE=deep` runs every law with many more examples than `make test` has time for.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import uvloop
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

settings.register_profile("deep", max_examples=2_000, deadline=None)
if "HYPOTHESIS_PROFILE" in os.environ:
    settings.load_profile(os.environ["HYPOTHESIS_PROFILE"])


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], uvloop.Loop]]:
    """uvloop, as in the product: half of what the relay must get right is how its loop behaves."""
    return {"uvloop": uvloop.new_event_loop}
