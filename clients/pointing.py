"""How each client is told where the server is: its own configuration file or variables, and one turn.

One rule: what stands here is what a user would type. Every client asks `hi`, once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from pathlib import Path

QUESTION: Final = "hi"
_KEY: Final = "sk-not-needed"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client lives while it runs."""

    home: Path
    work: Path
    """Its working directory: empty."""
    install: Path
    url: str
    """The proxy's, without a path."""
    model: str

    def binary(self, name: str) -> str:
        """A command that npm installed."""
        return str(self.install / "node_modules" / ".bin" / name)

    def script(self, name: str) -> str:
        """A command that pip installed."""
        return str(self.install / "venv" / "bin" / name)

    def write(self, name: str, text: str | bytes) -> Path:
        """A file below its home."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


@dataclass(frozen=True, slots=True)
class Run:
    """What is started."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    """Beside HOME, PATH and the like."""
    before: list[str] | None = None
    """A command that has to have run once, such as a log-in."""
    typed: str = ""
    """Standard input of that command."""


def openai_sdk(place: Place) -> Run:
    """OpenAI's own: a script, as its README begins."""
    return _sdk("openai", place, {"OPENAI_BASE_URL": f"{place.url}/v1", "OPENAI_API_KEY": _KEY})


def anthropic_sdk(place: Place) -> Run:
    """Anthropic's own; its base URL has no `/v1`."""
    return _sdk("anthropic", place, {"ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": _KEY})


def _sdk(name: str, place: Place, environment: dict[str, str]) -> Run:
    return Run([sys.executable, "-m", "clients.sdk", name, place.model, QUESTION], environment)


def pi(place: Place) -> Run:
    """`models.json` below its own folder."""
    provider = {
        "baseUrl": f"{place.url}/v1",
        "api": "openai-completions",
        "apiKey": _KEY,
        "models": [{"id": place.model}],
    }
    place.write(".pi/agent/models.json", orjson.dumps({"providers": {"local": provider}}))
    command = [place.binary("pi"), "-p", QUESTION, "--provider", "local", "--model", place.model]
    return Run(command, {"PI_OFFLINE": "1"})


def codex(place: Place) -> Run:
    """A provider of its own in `config.toml`, over HTTP."""
    place.write(
        ".codex/config.toml",
        f"""\
model = "{place.model}"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{place.url}/v1"
env_key = "LOCAL_KEY"
wire_api = "responses"
""",
    )
    command = [place.binary("codex"), "exec", "--skip-git-repo-check", QUESTION]
    return Run(command, {"LOCAL_KEY": _KEY})


def codex_websocket(place: Place) -> Run:
    """Its built-in provider with another address: it opens a WebSocket."""
    place.write(".codex/config.toml", f'openai_base_url = "{place.url}/v1"\n')
    program = place.binary("codex")
    return Run(
        [program, "exec", "--skip-git-repo-check", QUESTION],
        before=[program, "login", "--with-api-key"],
        typed=_KEY,
    )


def claude_code(place: Place) -> Run:
    """Two variables."""
    command = [place.binary("claude"), "-p", QUESTION]
    return Run(command, {"ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": _KEY})


def opencode(place: Place) -> Run:
    """A provider of the AI SDK in `opencode.json`."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "local",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": _KEY},
        "models": {place.model: {"name": place.model}},
    }
    config = place.write("opencode.json", orjson.dumps({"provider": {"local": provider}}))
    command = [place.binary("opencode"), "run", "--model", f"local/{place.model}", QUESTION]
    return Run(command, {"OPENCODE_CONFIG": str(config)})


def gemini_cli(place: Place) -> Run:
    """Two variables, and how it logs in."""
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    place.write(".gemini/settings.json", orjson.dumps(settings))
    environment = {"GOOGLE_GEMINI_BASE_URL": place.url, "GEMINI_API_KEY": _KEY}
    return Run([place.binary("gemini"), "--skip-trust", "-p", QUESTION], environment)


def qwen_code(place: Place) -> Run:
    """Three variables."""
    environment = {
        "OPENAI_BASE_URL": f"{place.url}/v1",
        "OPENAI_API_KEY": _KEY,
        "OPENAI_MODEL": place.model,
    }
    return Run([place.binary("qwen"), "--auth-type", "openai", "-p", QUESTION], environment)


def aider(place: Place) -> Run:
    """Two variables; it asks nothing when told so."""
    quiet = ["--yes-always", "--no-check-update", "--no-show-model-warnings"]
    quiet += ["--analytics-disable", "--no-pretty"]
    command = [place.script("aider"), "--model", f"openai/{place.model}", "--message", QUESTION]
    return Run([*command, *quiet], {"OPENAI_API_BASE": f"{place.url}/v1", "OPENAI_API_KEY": _KEY})


def open_webui(place: Place) -> Run:
    """The server by variables, and a page of it in Chromium."""
    environment = {
        "OPENAI_API_BASE_URL": f"{place.url}/v1",
        "OPENAI_API_KEY": _KEY,
        "DATA_DIR": str(place.home / "data"),
        "OFFLINE_MODE": "true",
        "HF_HUB_OFFLINE": "1",
        "WEBUI_AUTH": "False",
        "ENABLE_OLLAMA_API": "False",
        "DO_NOT_TRACK": "true",
        "ANONYMIZED_TELEMETRY": "false",
    }
    script = place.script("open-webui")
    return Run([sys.executable, "-m", "clients.browser", script, QUESTION], environment)
