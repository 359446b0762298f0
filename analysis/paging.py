"""Writes the report as one HTML file that needs nothing else.

One rule: what comes from the journal reaches the page only as text; the template escapes all of it.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from .filters import words
from .render.names import printable
from .terminal import screen

if TYPE_CHECKING:
    from .explain.overview import Overview
    from .store.base import Journal
    from .store.selection import Selection

_FOLDER: Final = "analysis.render.page"
LONGEST: Final = 4_000
"""Characters of one text on the page."""


class Page(NamedTuple):
    """What a page is about."""

    report: Overview
    journal: Journal
    selection: Selection


def write_page(path: Path, page: Page) -> None:
    """Write it whole or not at all; only its owner may read it. Raises OSError."""
    text = html(page)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def html(page: Page) -> str:
    """The page's text."""
    import jinja2  # noqa: PLC0415 -- who wants no page need not wait for it

    from .render.page.view import Facts, page_view  # noqa: PLC0415 -- as above

    style, script = _text("page.css"), _text("sort.js")
    made = f"{datetime.now(UTC).astimezone():%Y-%m-%d %H:%M}"
    command = shlex.join(["turnscope", *sys.argv[1:]])
    facts = Facts(import_module("proxy").__version__, command, words(page.selection), made)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, finalize=_visible
    )
    template = environment.from_string(_text("page.html.jinja"))
    return template.render(
        **page_view(page.report, page.journal, screen(), facts),
        style=style,
        script=script,
        script_hash=_hash(script),
    )


def _visible(value: object) -> object:
    """What a browser would obey instead of showing it, shown; only what is ours (marked safe) may hold more."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return printable(value, LONGEST)
    return value


def _text(name: str) -> str:
    return (files(_FOLDER) / name).read_text("utf-8")


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
