"""The only reader of time.

One rule: plain aliases, so that a stamp costs nothing but the call itself. Not the event loop's
`time()`: uvloop's has steps of 1 ms.
"""

from time import monotonic_ns
from time import time_ns as unix_ns

__all__ = ["monotonic_ns", "unix_ns"]
