"""Who asked: the client's name, and the conversation as the client itself names it.

One rule: an id of others is never kept. It becomes a hash of 48 bits, enough to tell conversations apart
and too little to be looked up anywhere; where it is not clear that an id is of one conversation, it is
no id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proxy.wire.head import value

from . import others

if TYPE_CHECKING:
    from proxy.wire.head import Headers, RequestHead

_SESSION_HEADERS: Final = (
    "x-claude-code-session-id",
    "thread-id",  # Codex, finer than its session
    "conversation_id",  # Codex before 0.90
    "conversation-id",
    "session-id",
    "session_id",  # Codex, pi
    "x-session-id",  # opencode
    "x-session-affinity",
    "x-opencode-session",
    "x-openwebui-chat-id",  # Open WebUI, if it is set to forward
    "x-qwen-code-session-id",
    "x-kilocode-taskid",
    "x-kilo-session",
    "x-client-session-id",  # Copilot CLI
    "x-conversation-id",  # LibreChat and others, where configured
    "x-litellm-session-id",
    "helicone-session-id",
)  # fmt: skip
"""The finest first: of one client the first that is there counts."""

_AGENT_HEADER: Final = "x-claude-code-agent-id"
"""Claude Code's helper agents share its session and hold conversations of their own."""

_LONGEST_ID: Final = 512
_UNIQUE: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-|[0-9a-f]{16}|ses_\w{12}"
)
"""A `prompt_cache_key` may be of one conversation, as Codex's and pi's, or of a whole application."""

_USER_SESSION: Final = re.compile(r"_session_([\w-]{8,80})$")
"""How Claude Code named its session in `metadata.user_id` before that was JSON."""

_TITLE: Final = re.compile(r"[A-Za-z0-9][\w .+/()-]{0,47}", re.ASCII)
_APPLICATIONS: Final = (
    ("x-openwebui-", "Open WebUI"),
    ("x-kilocode-", "Kilo Code"),
    ("x-opencode-", "opencode"),
    ("x-qwen-code-", "Qwen Code"),
    ("x-claude-code-", "Claude Code"),
)
_LIBRARY: Final = re.compile(
    r"(?:(?:Async)?(?:Azure)?(?:OpenAI|Anthropic)|Python|python-requests|python-httpx|aiohttp|litellm|node"
    r"|node-fetch|undici|axios|got|Bun|Deno|ai|ai-sdk|Go-http-client|okhttp|Java|java|reqwest|Mozilla"
    r"|Ruby|Faraday|curl|Wget|HTTPie|PostmanRuntime|google-genai-sdk|langchain[\w-]*|langchainjs[\w-]*)"
    r"(?:/|$| )",
    re.ASCII,
)
"""User agents that name what an application was built with, or a tool that anybody runs for anything."""

_HIDDEN_AGENTS: Final = re.compile(r"compact|memory|memgen|title|summar", re.IGNORECASE)
_COMPACTION: Final = re.compile(r"/responses/compact/?$")


@dataclass(frozen=True, slots=True)
class Asker:
    """What a request says of who sent it."""

    client: str | None = None
    """Product and version, or the application's name; None if none is given."""
    application: bool = False
    """True when `client` names one application, not a library that many use."""
    session: str | None = None
    """The conversation, as a hash; None if the client names none."""
    declared: bool = False
    """The request says itself that no person asked."""
    fills_in: bool = False
    """It asks for what stands between two texts, as an editor does while somebody types."""


class _Body(msgspec.Struct):
    """The few fields of a body that tell; all else is passed over without being built."""

    prompt_cache_key: Any = None
    session_id: Any = None
    suffix: Any = None
    metadata: msgspec.Raw = msgspec.Raw()
    response: msgspec.Raw = msgspec.Raw()


_body: Final = msgspec.json.Decoder(_Body)


def asker(request: RequestHead, body: bytes) -> Asker:
    """Read a request for it."""
    headers = request.headers
    product = others.client(headers)
    name = None if product and not _LIBRARY.match(product) else _application(headers)
    fields = _fields(body)
    subagent = value(headers, "x-openai-subagent") or ""
    memory = (value(headers, "x-openai-memgen-request") or "").lower() == "true"
    return Asker(
        client=name or product,
        application=bool(name or (product and not _LIBRARY.match(product))),
        session=_session(headers, fields),
        declared=bool(
            _HIDDEN_AGENTS.search(subagent) or memory or _COMPACTION.search(request.path)
        ),
        fills_in=request.path.rstrip("/").endswith("/infill") or bool(_word(fields.suffix)),
    )


def _application(headers: Headers) -> str | None:
    """What calls itself so (`X-Title`, as OpenRouter asks for), or sends headers of one application."""
    title = _TITLE.fullmatch((value(headers, "x-title") or "").strip())
    if title:
        return title[0]
    names = [key.lower() for key, _ in headers]
    return next(
        (app for start, app in _APPLICATIONS if any(n.startswith(start) for n in names)), None
    )


def _session(headers: Headers, fields: _Body) -> str | None:
    for name in _SESSION_HEADERS:
        found = _word(value(headers, name))
        if found:
            return _hashed(found, _word(value(headers, _AGENT_HEADER)))
    key = _word(fields.prompt_cache_key)
    found = (
        _word(fields.session_id)
        or (key if _UNIQUE.search(key) else "")
        or _metadata(fields.metadata)
    )
    return _hashed(found, "") if found else None


def _metadata(raw: msgspec.Raw) -> str:
    """Claude Code's: `user_id` ends in the session, or is JSON that names it."""
    metadata = _object(bytes(raw))
    user = _word(metadata.get("user_id"))
    found = _USER_SESSION.search(user)
    if found:
        return found[1]
    return _word(_object(user.encode("utf-8", "replace")).get("session_id")) or _word(
        metadata.get("session_id")
    )


def _hashed(found: str, agent: str) -> str:
    data = f"{found}\0{agent}".encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=6, person=b"thread").hexdigest()


def _word(given: Any) -> str:
    return given.strip()[:_LONGEST_ID] if isinstance(given, str) else ""


def _fields(body: bytes) -> _Body:
    """Of a message in a tunnel too, where they may stand one level down."""
    try:
        fields = _body.decode(body)
        return _body.decode(fields.response) if bytes(fields.response)[:1] == b"{" else fields
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Body()


def _object(data: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
