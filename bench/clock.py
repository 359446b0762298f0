"""The clock of both ends: CLOCK_MONOTONIC, one for all processes of a machine.

One rule: the upstream stamps with it and the client reads with it, so that a difference is a delay.
"""

from time import monotonic_ns

__all__ = ["monotonic_ns"]
