"""Fields of others' JSON, of any type, read as the type they should have.

One rule: a field of the wrong type is a field that is not there. So no dialect needs an isinstance of
its own, and none raises on `"content": 7`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

JsonObject = dict[str, Any]

_LARGEST: Final = 2**53
"""JSON numbers beyond this are not exact anywhere (RFC 8259 section 6); none of them is a count."""


def as_object(value: Any) -> JsonObject:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_items(value: Any) -> list[Any]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else []


def as_objects(value: Any) -> list[JsonObject]:
    """The objects in an array; what else is in there is passed over."""
    return [item for item in as_items(value) if isinstance(item, dict)]


def as_text(value: Any) -> str:
    """The string, or an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """A number of things; None for anything else. Some servers write `12.0`."""
    number = as_number(value)
    if number is None or number < 0 or number != int(number):
        return None
    return int(number)


def as_number(value: Any) -> int | float | None:
    """A finite number; None for anything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _LARGEST else None


def first_count(value: JsonObject, *paths: str) -> int | None:
    """The first of several places, such as `usage.reasoning_tokens`, that holds a count."""
    for path in paths:
        found = as_count(_at(value, path))
        if found is not None:
            return found
    return None


def scalars(value: JsonObject, paths: Iterable[str]) -> dict[str, float | int | str | bool]:
    """Numbers, words and switches as sent, by their paths; what else stands there is left out."""
    found: dict[str, float | int | str | bool] = {}
    for path in paths:
        given = _at(value, path)
        number = as_number(given)
        if isinstance(given, bool):
            found[path] = given
        elif isinstance(given, str):
            found[path] = given[:80]
        elif number is not None:
            found[path] = number
    return found


def _at(value: JsonObject, path: str) -> Any:
    *outer, last = path.split(".")
    for name in outer:
        value = as_object(value.get(name))
    return value.get(last)
