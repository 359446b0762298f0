"""A report of a journal in the forms in which tests look at it."""

from __future__ import annotations

from datetime import UTC

from analysis.explain.overview import overview
from analysis.render.headline import headline
from analysis.render.screen import Screen
from analysis.render.text import report_text


def text(journal, **screen):
    """The report of a journal on a screen in Greenwich."""
    return report_text(overview(journal), Screen(zone=UTC, **screen))


def words(journal):
    """The same without its lines' ends."""
    return " ".join(text(journal).split())


def spoken(journal):
    """The sentences of the headline, without the sources at their side."""
    return " ".join(statement.text for statement in headline(overview(journal)))
