"""All dialects, and the choice among them: the one file that knows more than one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .anthropic_messages import AnthropicMessages
from .gemini import Gemini
from .known import KNOWN
from .ollama import Ollama
from .opaque import Opaque
from .openai_chat import OpenAiChat
from .openai_completions import OpenAiCompletions
from .openai_responses import OpenAiResponses

if TYPE_CHECKING:
    from proxy.wire.head import RequestHead

    from .base import Dialect

DIALECTS: Final[tuple[Dialect, ...]] = (
    OpenAiChat(),
    AnthropicMessages(),
    OpenAiCompletions(),
    OpenAiResponses(),
    Ollama(),
    Gemini(),
    *KNOWN,
    Opaque(),
)
"""In the order that decides between equal bids."""


def choose(request: RequestHead, start: bytes) -> Dialect:
    """The dialect with the highest bid; `start` holds the first bytes of the decoded body."""
    return max(DIALECTS, key=lambda dialect: dialect.bid(request, start))
