"""Expected output as files: read them as a user would, and compare with the diff of the day.

One rule: a golden file changes only on purpose. A test that finds another text leaves it beside the
golden as `<name>.got` and fails; `GOLDEN=write pytest` accepts what is there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "golden"


def assert_golden(name: str, got: str) -> None:
    """Fail unless the file `tests/golden/<name>` holds exactly `got`."""
    want, left = FOLDER / name, FOLDER / f"{name}.got"
    if os.environ.get("GOLDEN") == "write":
        want.parent.mkdir(exist_ok=True)
        want.write_text(got, "utf-8")
    if want.exists() and want.read_text("utf-8") == got:
        left.unlink(missing_ok=True)
        return
    left.write_text(got, "utf-8")
    pytest.fail(f"{want.name} is not what came: diff {want} {left} (GOLDEN=write accepts it)")
