"""`make audit`: what is said of pip-audit's report, and that silence is not taken for health."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from tests.support.source import ROOT

SPEC = importlib.util.spec_from_file_location("audit", ROOT / "requirements" / "audit.py")
AUDIT = importlib.util.module_from_spec(SPEC)
sys.modules["audit"] = AUDIT  # dataclasses look there for the names in annotations
SPEC.loader.exec_module(AUDIT)

FINE = {"name": "orjson", "version": "3.12", "vulns": []}
BAD = {"name": "aiohttp", "version": "3.12", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.13"]}]}
OPEN = {"name": "brotli", "version": "1.2", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}
UNKNOWN = {"name": "rich", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("found", "status", "said"),
    [
        ([FINE, FINE], 0, ["no vulnerability is known of the 2 packages in the locks"]),
        ([FINE, BAD, UNKNOWN], 1, ["aiohttp 3.12: PYSEC-1, fixed in 3.13"]),
        ([OPEN], 1, ["brotli 1.2: PYSEC-2, fixed in no version yet"]),
        ([FINE, UNKNOWN], 2, ["not found at the service, so not audited: rich"]),
        ([UNKNOWN], 2, ["the vulnerability service cannot be reached: nothing was audited"]),
        ([], 2, ["the vulnerability service cannot be reached: nothing was audited"]),
    ],
)
def test_a_report_is_judged(found, status: int, said: list[str]):
    """All clear only where all were looked up."""
    assert AUDIT.Verdict(status, said) == AUDIT.verdict({"dependencies": found})


def test_no_report_is_no_all_clear():
    """pip-audit gave up before it wrote one."""
    assert 2 == AUDIT.verdict(None).status


def test_the_locks_are_those_that_are_installed():
    """Each file is there, and what runs is in them."""
    pinned = "".join((ROOT / "requirements" / f"{name}.txt").read_text() for name in AUDIT.LOCKS)

    assert all(line in pinned for line in _pins((ROOT / "requirements" / "run.txt").read_text()))


def _pins(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines() if "==" in line and line[0].isalpha()]
