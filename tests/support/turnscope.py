"""The command `turnscope`, run as a person runs it: as a program of its own.

One rule: what it must not depend on (the user's folders, colours, time zone) is taken away.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "analysis")
SEGMENT = "2026-09-21-9-1.jsonl"
"""The name of a segment, as the proxy gives them."""


def environment(**changes):
    """This process's, in Greenwich, without a word about colours or folders."""
    kept = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "XDG_STATE_HOME", "TERM"}}
    return {**kept, "TZ": "UTC", **changes}


def run(*arguments, **env):
    """Run the command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=PROJECT,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def start(*arguments, **env):
    """Start the command; its streams are pipes. Whoever starts it ends it."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=PROJECT,
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
