"""What the relay's process tells its recorder, on the command line of that process.

One rule: only what the recorder needs, and nothing that may not be seen in a list of processes.
"""

from typing import Literal

import msgspec


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the recorder."""

    run: str
    """Names this run of the proxy; with an exchange's number it is the record's id."""
    journal: str
    """The folder for records."""
    nice: int
    """How far the recorder stands back for others."""
    retain_bytes: int
    """What is kept of one exchange for reading."""
    quiet: bool
    """True: no line for each exchange."""
    form: Literal["auto", "text", "json"]
    """How lines are written."""
    asking: Literal["private", "any", "off"] = "private"
    """Which upstreams' own tokenizers may be asked."""
    tokenizer_file: str | None = None
    """A tokenizer.json that counts where no server does; None: tiktoken does."""
