"""LiteLLM's proxy with one model group that takes every name. It reads and writes JSON anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Contestant

if TYPE_CHECKING:
    from .base import Place

CONFIG: Final = """\
model_list:
  - model_name: "*"
    litellm_params:
      model: "openai/*"
      api_base: {upstream}/v1
      api_key: sk-bench
litellm_settings:
  telemetry: false
"""


_OFFLINE: Final = ("env", "LITELLM_LOCAL_MODEL_COST_MAP=True")
"""Else it fetches a list of prices at its start."""


def _command(place: Place) -> list[str]:
    config = place.write("litellm.yaml", CONFIG.format(upstream=place.upstream))
    where = ["--host", "127.0.0.1", "--port", str(place.port)]
    return [*_OFFLINE, "litellm", "--config", config, *where, "--num_workers", "1"]


LITELLM: Final = Contestant(
    "litellm",
    "litellm",
    "pip install 'litellm[proxy]'",
    _command,
    keeps="meaning",
    version=(*_OFFLINE, "litellm", "--version"),
    ready_s=120.0,
)
