"""JSON Schema of what a command prints, drawn from documents that hold all its shapes.

One rule: a key is required if every object in its place has it, and what was null in one may be null.
"""

from __future__ import annotations

import re

UNITS = (
    (r"ns_per_token$", "nanoseconds a token"),
    (r"_unix_ns$", "nanoseconds since 1970"),
    (r"_ns$", "nanoseconds"),
    (r"tokens_per_s$", "tokens a second"),
    (r"tokens$", "tokens"),
    (r"share$", "0 to 1"),
    (r"factor$", "a ratio"),
    (r"_characters$", "characters"),
    (r"_bytes$|^bytes$", "bytes"),
)
"""How a key ends, and the unit of its numbers."""

BY_NAME = {"standings", "sampling", "reported", "marks"}
"""Objects whose keys are names of others: any key, one kind of value."""

TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def schema(name, documents):
    """The schema of these documents."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name}
    return head | _schema(documents, "")


def _schema(values, key):
    kinds = {TYPES.get(type(v), "object" if isinstance(v, dict) else "array") for v in values}
    if "number" in kinds:
        kinds.discard("integer")
    drawn = {"type": sorted(kinds) if len(kinds) != 1 else kinds.pop()} if kinds else {}
    unit = next((word for end, word in UNITS if re.search(end, key)), None)
    if unit and {"integer", "number"} & set(_listed(drawn.get("type", []))):
        drawn["description"] = unit
    objects = [v for v in values if isinstance(v, dict)]
    if objects and key in BY_NAME:
        drawn["additionalProperties"] = _schema([v for o in objects for v in o.values()], key)
    elif objects:
        names = list(dict.fromkeys(name for o in objects for name in o))
        drawn["properties"] = {n: _schema([o[n] for o in objects if n in o], n) for n in names}
        drawn["required"] = [n for n in names if all(n in o for o in objects)]
    items = [item for v in values if isinstance(v, list) for item in v]
    if items:
        drawn["items"] = _schema(items, key)
    return drawn


def _listed(kinds):
    return [kinds] if isinstance(kinds, str) else kinds


def faults(value, drawn, where="$"):
    """Where a document is not what the schema says."""
    kinds = set(_listed(drawn.get("type", [])))
    kind = TYPES.get(type(value), "object" if isinstance(value, dict) else "array")
    if kinds and kind not in kinds and not (kind == "integer" and "number" in kinds):
        yield f"{where}: {kind}, not {' or '.join(sorted(kinds))}"
    if isinstance(value, dict):
        known, any_ = drawn.get("properties", {}), drawn.get("additionalProperties")
        yield from (f"{where}: no {n}" for n in drawn.get("required", []) if n not in value)
        for name, inner in value.items():
            if name in known or any_ is not None:
                yield from faults(inner, known.get(name, any_), f"{where}.{name}")
            elif known:
                yield f"{where}.{name}: not described"
    if isinstance(value, list) and "items" in drawn:
        for n, item in enumerate(value):
            yield from faults(item, drawn["items"], f"{where}[{n}]")
