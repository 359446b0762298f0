"""What this process may use."""

from __future__ import annotations

import resource


def raise_descriptors() -> int:
    """Allow as many file descriptors as one may. Gives the number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
