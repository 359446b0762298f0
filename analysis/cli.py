"""The command `turnscope`: is the package `proxy` still ours, and if so, on to the command proper.

One rule: nothing that imports `proxy` is imported before that is known. PyPI's proxy.py installs a
package of the same name over ours without a word, and what one would see then is an error from deep
inside a stranger's code.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module

FOREIGN = (
    "turnscope: another distribution has been installed over turnscope's package `proxy` "
    "(proxy.py on PyPI does that); install turnscope into an environment of its own: "
    "python3 -m venv turnscope-env && turnscope-env/bin/pip install turnscope\n"
)


def main() -> None:
    """Run the command and exit: 0 fine, 1 found problems, 2 wrong usage."""
    if not _ours():
        sys.stderr.write(FOREIGN)
        sys.exit(2)
    # Reports make millions of small values that live to the end: looking for cycles among them is in vain.
    gc.set_threshold(200_000, 50, 50)
    from .command import turnscope  # noqa: PLC0415 -- only once the package is known as ours

    turnscope(prog_name="turnscope")


def _ours() -> bool:
    """Whether `proxy` is turnscope's. A stranger's may lack libraries of its own to be imported."""
    try:
        return getattr(import_module("proxy"), "OWNER", None) == "turnscope"
    except ImportError:
        return False
