"""The clients: what is installed for each, which upstream it needs, and how it is pointed at the proxy.

One rule: one row is one client. Versions stand in its lock below npm/ or pip/, figures in expected.toml.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from . import pointing

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pointing import Place, Run

Upstream = Literal["llama", "gemini", "responses"]
"""`llama`: llama.cpp's own server with a tiny model. The others are scripted: what it does not speak."""


@dataclass(frozen=True, slots=True)
class Client:
    """One row."""

    name: str
    registry: Literal["npm", "pip", "ours"]
    """`ours`: it is in the project's own environment."""
    folder: str
    """Of its lock, below npm/ or pip/, and of its installation; of `ours` the distribution's name."""
    package: str
    """As the registry names it: whose version the table shows."""
    upstream: Upstream
    point: Callable[[Place], Run]
    heavy: str = ""
    """Why it only runs when it is named; empty: it runs."""


CLIENTS: Final = (
    Client("openai-sdk", "ours", "openai", "openai", "llama", pointing.openai_sdk),
    Client("anthropic-sdk", "ours", "anthropic", "anthropic", "llama", pointing.anthropic_sdk),
    Client("pi", "npm", "pi", "@mariozechner/pi-coding-agent", "llama", pointing.pi),
    Client("codex", "npm", "codex", "@openai/codex", "llama", pointing.codex),
    Client(
        "codex-websocket", "npm", "codex", "@openai/codex", "responses", pointing.codex_websocket
    ),
    Client(
        "claude-code",
        "npm",
        "claude-code",
        "@anthropic-ai/claude-code",
        "llama",
        pointing.claude_code,
    ),
    Client("opencode", "npm", "opencode", "opencode-ai", "llama", pointing.opencode),
    Client("gemini-cli", "npm", "gemini-cli", "@google/gemini-cli", "gemini", pointing.gemini_cli),
    Client("qwen-code", "npm", "qwen-code", "@qwen-code/qwen-code", "llama", pointing.qwen_code),
    Client("aider", "pip", "aider", "aider-chat", "llama", pointing.aider),
    Client(
        "open-webui",
        "pip",
        "open-webui",
        "open-webui",
        "llama",
        pointing.open_webui,
        heavy="it takes 6 GB and some minutes to install, and needs Chromium",
    ),
)


def named(names: tuple[str, ...], *, everything: bool = False) -> list[Client]:
    """The clients of these names, in the table's order; without a name, all that are not heavy.

    Raises ValueError for a name that is none.
    """
    known = {client.name for client in CLIENTS}
    if wrong := [name for name in names if name not in known]:
        raise ValueError(f"there is no client {wrong[0]}; there are {', '.join(sorted(known))}")
    if everything:
        return list(CLIENTS)
    if names:
        return [client for client in CLIENTS if client.name in names]
    return [client for client in CLIENTS if not client.heavy]
