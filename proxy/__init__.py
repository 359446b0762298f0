"""turnscope's recording half: a splice between a chat client and its inference server.

Folders here are pure (bytes, times and values); the files beside this one touch the world.
"""

__version__ = "0.1.0"

# PyPI has another distribution that installs a package called `proxy` and overwrites this file
# without a word. Both commands look for this mark first: see `proxy.cli.main`.
OWNER = "turnscope"
