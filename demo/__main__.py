"""`python -m demo`, which `make demo` runs: the whole product in half a minute.

One rule: whatever happens, no process and no port is left behind, and a fault is one clear sentence.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console

from . import chat
from .child import ROOT, ChildError
from .models import SMOLLM2, MissingModelError, smollm2
from .proxied import free_port, recording, report, shown, wait_for_record
from .server import Setup, serving
from .steps import Steps

if TYPE_CHECKING:
    import openai

FOLDER: Final = ROOT / ".cache" / "demo"
"""The demo's own journal and logs, made anew each time; the journal of `make run` is elsewhere."""

INTRODUCTION: Final = """\
turnscope demo: llama.cpp's own server with a small real model, a chat client with a tool list that
it does not need, and turnscope-proxy between the two. All on this machine.
"""
OWN_SERVER: Final = """\
Your own server: .venv/bin/turnscope-proxy --upstream http://HOST:PORT, then put
http://127.0.0.1:8484/v1 into your client as its base URL, use it, and: make analyze"""


@click.command()
@click.option(
    "--threads",
    default=2,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Threads for the model; the README's figures come from two.",
)
@click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(path_type=Path, resolve_path=True),
    help=f"An empty folder for the journal and the logs.  [default: {shown(FOLDER)}, emptied]",
)
def main(threads: int, folder: Path | None) -> None:
    """See where the wait goes: a real server, a real model, a chat with and without tools."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        journal = prepare(folder)
        console.print(INTRODUCTION)
        with Steps(console, total=4 + len(chat.QUESTIONS)) as steps:
            converse(steps, Setup(smollm2(), SMOLLM2, threads=threads, port=free_port()), journal)
        console.print(f"\n$ turnscope report --journal {shown(journal)}")
        report(journal)
        console.print(f"\n{OWN_SERVER}")
    except (ChildError, MissingModelError, chat.ChatError) as error:
        console.print(f"demo: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("demo: stopped; nothing is left running")
        sys.exit(130)


def prepare(folder: Path | None) -> Path:
    """An empty folder for the journal, with a place for logs above it.

    Only the demo's own folder is ever emptied. Raises ChildError when there can be none.
    """
    if folder is None:
        shutil.rmtree(FOLDER, ignore_errors=True)
    journal = (folder or FOLDER) / "journal"
    try:
        journal.mkdir(parents=True)
    except FileExistsError as error:
        raise ChildError(f"{journal} is there already: name an empty folder") from error
    except OSError as error:
        raise ChildError(f"{journal} cannot be made: {error.strerror}") from error
    return journal


def converse(steps: Steps, setup: Setup, journal: Path) -> None:
    """Start the proxy and the server, hold the chat, and stop both, the proxy first.

    The proxy comes first, so that its recorder reads its token tables while the model is loaded.
    """
    upstream = f"http://127.0.0.1:{setup.port}"
    with contextlib.ExitStack() as server, contextlib.ExitStack() as proxy:
        base_url = steps.run(
            "starting turnscope-proxy",
            lambda: proxy.enter_context(recording(upstream, journal, journal.parent / "proxy.log")),
            lambda url: f"turnscope-proxy      {url} -> {upstream}",
        )
        steps.run(
            f"starting llama.cpp with {setup.alias}",
            lambda: server.enter_context(serving(setup, journal.parent / "server.log")),
            lambda url: f"llama.cpp's server   {url}, model {setup.alias}, {setup.threads} threads",
        )
        client = proxy.enter_context(chat.client(base_url))
        steps.run(
            "listing the models",
            functools.partial(list_models, client, journal),
            lambda names: f"the models           {', '.join(names)}, listed through the proxy",
        )
        for question in chat.QUESTIONS:
            steps.run(
                f"asking: {question.title}",
                functools.partial(chat.ask, client, setup.alias, question),
                functools.partial(line, question),
            )
        steps.run(
            "stopping turnscope-proxy", proxy.close, lambda _: "stopped: the journal is whole"
        )


def list_models(client: openai.OpenAI, journal: Path) -> list[str]:
    """Ask for the models, as clients do at their start, and wait until that is on record."""
    names = chat.models(client)
    wait_for_record(journal, journal.parent / "proxy.log")
    return names


def line(question: chat.Question, answer: chat.Answer) -> str:
    """What the client saw of one answer, by its own clock."""
    return (
        f"{question.title:<20} {answer.prompt_tokens:>5,} prompt tokens, {answer.cached_tokens:>5,}"
        f" cached   first token {answer.first_token_s:5.2f} s   whole answer {answer.end_s:5.2f} s"
    )


if __name__ == "__main__":
    main()
