"""Texts of others without what looks like a key: where a name is due, someone puts a credential.

One rule: only what has the shape of a key that vendors give out is taken for one. A record must not lose
a model's name because it is long; docs/security.md says what is not recognised.
"""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "<key>"

_KEY: Final = re.compile(
    r"""
      (?<![0-9A-Za-z]) (?:sk|pk|rk|xai|pplx|nvapi|tvly|glpat|fw|sess) [-_] [\w*.-]{16,}
    | (?<![0-9A-Za-z]) (?:gsk|hf|r8|ghp|gho|ghs) _ [0-9A-Za-z*]{20,}
    | (?<![0-9A-Za-z]) AIza [\w*-]{30,}
    | (?<![0-9A-Za-z]) eyJ [\w-]{10,} \. [\w-]{10,} (?: \. [\w-]* )?
    | (?<= bearer[ ] ) [\w.~+/=*-]{8,}
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


def without_keys(text: str) -> str:
    """The text, with `<key>` in the place of each."""
    return _KEY.sub(REDACTED, text)
