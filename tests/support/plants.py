"""Secrets to plant where keys are put, or end up, and to look for in what was written."""

from __future__ import annotations

import hashlib


class Plants:
    """Secrets that look like keys, one for each place, so that a find says where it came from."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def __call__(self, place: str) -> str:
        """The secret of a place."""
        digits = hashlib.sha256(place.encode()).hexdigest()[:36]
        return self.places.setdefault(place, f"sk-{digits}")

    def found_in(self, written: bytes) -> list[str]:
        """Places whose secret stands in what was written: the beginning, the middle or the end of it."""
        return [
            place
            for place, secret in self.places.items()
            if any(secret[at : at + 12].encode() in written for at in (3, 14, 27))
        ]
