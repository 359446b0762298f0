"""Names of fields in Gemini's API, which it takes in two spellings and answers in one.

One rule: the spelling of the reference (`maxOutputTokens`) is the name, the other one an alias.
Only the API's own fields are respelled, never what callers put into them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .fields import JsonObject

_LOW: Final = re.compile(r"(?<=[a-z0-9])_([a-z])")
_HIGH: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")


def pick(value: JsonObject, name: str) -> Any:
    """The field of this name in either spelling; None if it is not there."""
    found = value.get(name)
    return value.get(_HIGH.sub(r"_\1", name).lower()) if found is None else found


def spelled(name: str) -> str:
    """The name as the reference spells it."""
    return _LOW.sub(lambda found: found[1].upper(), name)


def respelled(value: JsonObject) -> JsonObject:
    """The same object with its own names as the reference spells them, those of inner ones as sent."""
    return {spelled(name): inner for name, inner in value.items()}
