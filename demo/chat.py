"""The small chat: three questions through the OpenAI SDK, as any client would ask them.

One rule: the client knows nothing of turnscope. It has a base URL, and it stamps what it sees with
its own clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import openai
import orjson

from .child import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionChunk

_SYSTEM: Final = "You are a helpful assistant."
_TOOLS: Final = ROOT / "demo" / "tools.json"
_ANSWER_TOKENS: Final = 96
_TIMEOUT_S: Final = 300.0
"""For one request: on a slow or busy machine the tool list alone may take two minutes."""


class ChatError(Exception):
    """A request failed or its answer was empty."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request of the chat."""

    title: str
    text: str
    with_tools: bool


QUESTIONS: Final = (
    Question("a question", "What is a rainbow? Answer in one sentence.", with_tools=False),
    Question("the same, 9 tools", "What is a rainbow? Answer in one sentence.", with_tools=True),
    Question(
        "the next, same tools", "What does a bee do? Answer in one sentence.", with_tools=True
    ),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client saw of one answer. Times by its own clock, from the call of the SDK on."""

    text: str
    prompt_tokens: int
    """As the server billed them, those from the cache included."""
    cached_tokens: int
    output_tokens: int
    first_token_s: float
    end_s: float


def tools() -> list[dict[str, Any]]:
    """The tool definitions of an eager chat client, 978 tokens of o200k_base."""
    loaded: list[dict[str, Any]] = orjson.loads(_TOOLS.read_bytes())
    return loaded


def client(base_url: str) -> openai.OpenAI:
    """A client that is told one thing, its base URL. To be closed."""
    return openai.OpenAI(
        base_url=f"{base_url}/v1", api_key="not-needed", max_retries=0, timeout=_TIMEOUT_S
    )


def models(client: openai.OpenAI) -> list[str]:
    """Names of the models that are served, as clients ask for them at their start."""
    try:
        return [model.id for model in client.models.list()]
    except openai.OpenAIError as error:
        raise ChatError(f"the models cannot be listed: {error}") from error


def ask(client: openai.OpenAI, model: str, question: Question) -> Answer:
    """Send one question and read its answer as it comes. Raises ChatError."""
    extra: dict[str, Any] = {"tools": tools()} if question.with_tools else {}
    begun = time.perf_counter()
    try:
        with client.chat.completions.create(
            model=model,
            messages=[
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": question.text},
            ],
            stream=True,
            stream_options={"include_usage": True},
            max_tokens=_ANSWER_TOKENS,
            temperature=0,
            **extra,
        ) as chunks:
            return _read(chunks, begun)
    except openai.OpenAIError as error:
        raise ChatError(f"the request failed: {error}") from error


def _read(chunks: Iterator[ChatCompletionChunk], begun: float) -> Answer:
    first_s: float | None = None
    usage: CompletionUsage | None = None
    said: list[str] = []
    for chunk in chunks:
        delta = chunk.choices[0].delta if chunk.choices else None
        if delta and (delta.content or delta.tool_calls):
            first_s = first_s or time.perf_counter() - begun
            said.append(delta.content or "")
        usage = chunk.usage or usage
    end_s = time.perf_counter() - begun
    if first_s is None or usage is None:
        raise ChatError("the answer ended without a token or without its usage")
    details = usage.prompt_tokens_details
    return Answer(
        text="".join(said),
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=(details.cached_tokens or 0) if details else 0,
        output_tokens=usage.completion_tokens,
        first_token_s=first_s,
        end_s=end_s,
    )
