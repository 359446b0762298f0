"""What `turnscope forget` is told and what it says: a moment in, text or JSON out.

One rule: a moment is never said without its zone.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import orjson

from .render.names import printable
from .render.units import count, plural

if TYPE_CHECKING:
    from .forgetting import Done, Forgetting

SCHEMA: Final = "turnscope.forget/1"


def moment(text: str) -> datetime:
    """A date or a time of ISO 8601, in this machine's zone unless it names one. Raises ValueError."""
    try:
        given = datetime.fromisoformat(text.strip())
        return given if given.tzinfo else given.astimezone()
    except OverflowError:
        raise ValueError(text) from None


def unix_ns(at: datetime) -> int:
    """Since 1970, exact to the microsecond."""
    return (at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000


def as_json(pass_: Forgetting, before: datetime) -> str:
    """One object, indented."""
    done = pass_.done
    said = {
        "schema": SCHEMA,
        "journal": str(pass_.folder),
        "before": before.isoformat(),
        "before_unix_ns": pass_.before_unix_ns,
        "dry_run": pass_.dry_run,
        "removed": done.removed,
        "rewritten": done.rewritten,
        "left": [{"file": left.file, "why": left.why} for left in done.left],
        "records": done.lines["records"],
        "loss_lines": done.lines["losses"],
        "gauge_samples": done.lines["gauge"],
        "bytes_freed": done.bytes_freed,
    }
    return orjson.dumps(said, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def as_text(pass_: Forgetting, before: datetime) -> str:
    """A few lines for a person."""
    done = pass_.done
    moment_said = f"{before:%Y-%m-%d %H:%M:%S} {before.tzname()}"
    if not (done.removed or done.rewritten or done.left):
        return f"Nothing in {pass_.folder} began before {moment_said}.\n"
    verb = "Would forget" if pass_.dry_run else "Forgot"
    lines = [f"{verb} what began before {moment_said} in {pass_.folder}:", *_figures(done)]
    lines += [f"Left: {printable(left.file)}: {left.why}" for left in done.left]
    return "".join(f"{line}\n" for line in lines)


def _figures(done: Done) -> list[str]:
    rows = [
        ("records", done.lines["records"]),
        ("loss lines", done.lines["losses"]),
        ("gauge samples", done.lines["gauge"]),
        ("files removed", len(done.removed)),
        ("files rewritten", len(done.rewritten)),
        ("bytes freed", done.bytes_freed),
    ]
    wide = max(len(count(n)) for _, n in rows)
    return [f"  {count(n):>{wide}}  {name}" for name, n in rows]


def question(pass_: Forgetting) -> str:
    """What is asked before it is done."""
    records = plural(pass_.done.lines["records"], "record")
    return f"Forget {records} for ever? There is no way back."
