"""The command `turnscope-proxy`: is this package still ours, and if so, on to the command proper.

One rule: nothing of ours is imported before that is known. PyPI's proxy.py installs a package of the
same name over this one without a word, and what one would see then is an error from deep inside a
stranger's code.
"""

from __future__ import annotations

import sys
from importlib import import_module

FOREIGN = (
    "turnscope-proxy: another distribution has been installed over turnscope's package `proxy` "
    "(proxy.py on PyPI does that); install turnscope into an environment of its own: "
    "python3 -m venv turnscope-env && turnscope-env/bin/pip install turnscope\n"
)


def main() -> None:
    """Run the command and exit: 0 fine, 2 wrong usage, a bad config, or a start that failed."""
    if getattr(import_module("proxy"), "OWNER", None) != "turnscope":
        sys.stderr.write(FOREIGN)
        sys.exit(2)
    from .command import turnscope_proxy  # noqa: PLC0415 -- only once the package is known as ours

    turnscope_proxy()
