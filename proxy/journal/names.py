"""The names of a journal's files: which are ours, of which sort, and of which day.

One rule: a name that does not fit to the letter is somebody else's file. A journal may be told to live
in a home directory, and what removes old files goes by these names alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

Sort = Literal["records", "losses", "gauge"]
Form = Literal["jsonl", "parquet"]

DAY_NS: Final = 86_400 * 10**9

FORGOTTEN: Final = "forgotten.jsonl"
"""One line for each time that files or lines were removed: what is missing since then is no gap."""

_DATED: Final = re.compile(
    r"(?P<sort>loss-|gauge-)?(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})-[0-9]+-[0-9]+\.(?P<form>jsonl|parquet)"
)
_SORTS: Final[dict[str | None, Sort]] = {None: "records", "loss-": "losses", "gauge-": "gauge"}
_TOOL_SET: Final = re.compile(r"tools-([0-9a-f]{16})\.json")
_RUN: Final = re.compile(r"([0-9]{8}T[0-9]{6})-.*")


@dataclass(frozen=True, slots=True)
class Dated:
    """A file of lines that all belong to one day, or what such a file was compacted to."""

    sort: Sort
    form: Form
    begin_unix_ns: int
    """00:00 UTC of the day in its name: nothing in it began before."""

    @property
    def end_unix_ns(self) -> int:
        """00:00 UTC of the next day: all in it began before."""
        return self.begin_unix_ns + DAY_NS


def dated(name: str) -> Dated | None:
    """What the name of a file of lines says; None if it is no such name."""
    found = _DATED.fullmatch(name)
    if found is None:
        return None
    try:
        day = datetime.fromisoformat(f"{found['date']}T00:00:00+00:00")
    except ValueError:
        return None  # digits, but no day of any calendar
    form: Form = "parquet" if found["form"] == "parquet" else "jsonl"
    return Dated(_SORTS[found["sort"]], form, int(day.timestamp()) * 10**9)


def tool_set_name(set_hash: str) -> str:
    """The file that names the tools of a set."""
    return f"tools-{set_hash}.json"


def tool_set_hash(name: str) -> str | None:
    """The hash in the name of such a file; None if it is no such name."""
    found = _TOOL_SET.fullmatch(name)
    return found[1] if found else None


def run_began_unix_ns(run: str) -> int | None:
    """When a run of the proxy began, to the second; None if its name does not say."""
    found = _RUN.fullmatch(run)
    try:
        return found and int(datetime.fromisoformat(f"{found[1]}+00:00").timestamp()) * 10**9
    except ValueError:
        return None
