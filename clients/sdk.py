"""One turn with a vendor's own SDK: `python -m clients.sdk openai MODEL QUESTION`.

One rule: as the SDK's README begins. Where the server is, it reads from the environment itself.
"""

from __future__ import annotations

import sys

import anthropic
import openai

_LIMIT = 64


def main(vendor: str, model: str, question: str) -> None:
    """Ask with a stream, and print the answer as it comes."""
    if vendor == "openai":
        chunks = openai.OpenAI().chat.completions.create(
            model=model, messages=[{"role": "user", "content": question}], stream=True
        )
        for chunk in chunks:
            print(chunk.choices[0].delta.content or "" if chunk.choices else "", end="")
        return
    client = anthropic.Anthropic()
    messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": question}]
    with client.messages.stream(model=model, max_tokens=_LIMIT, messages=messages) as stream:
        for text in stream.text_stream:
            print(text, end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
