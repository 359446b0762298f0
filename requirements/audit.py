"""`make audit`: are vulnerabilities known of anything that the locks name?

One rule: "none is known" is said only if every package was looked up. pip-audit itself ends well when its
service does not know a package, and so also when a mirror stands in for the service and knows nothing.
"""
# ruff: noqa: INP001 -- a script beside the locks that it reads, no package

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

AUDITOR: Final = "pip-audit>=2.10,<3"
LOCKS: Final = ("dev", "real", "uv")
"""The lock of what runs is part of the first."""
_HERE: Final = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said, and how the command ends."""

    status: int
    """0: none known of any; 1: some known; 2: not all could be looked up, and none is known of the rest."""
    lines: list[str]


def verdict(report: Any) -> Verdict:
    """Of pip-audit's JSON; None if it gave none."""
    found = report["dependencies"] if report else []
    lines = [
        f"{each['name']} {each['version']}: {fault['id']}, fixed in {_fixes(fault)}"
        for each in found
        for fault in each.get("vulns", ())
    ]
    skipped = [each["name"] for each in found if "skip_reason" in each]
    if lines:
        return Verdict(1, lines)
    if not found or len(skipped) == len(found):
        return Verdict(2, ["the vulnerability service cannot be reached: nothing was audited"])
    if skipped:
        return Verdict(2, [f"not found at the service, so not audited: {', '.join(skipped)}"])
    return Verdict(0, [f"no vulnerability is known of the {len(found)} packages in the locks"])


def _fixes(fault: Any) -> str:
    return ", ".join(fault.get("fix_versions", ())) or "no version yet"


def _report(folder: Path) -> Any:
    """What pip-audit says, from an environment of its own: it is no dependency of this project."""
    auditor = folder / "bin" / "pip-audit"
    if not auditor.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)  # noqa: S603 -- our own words
        pip = [folder / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", AUDITOR], check=True)  # noqa: S603 -- our own words
    output = folder / "report.json"
    output.unlink(missing_ok=True)
    locks = [word for name in LOCKS for word in ("-r", str(_HERE / f"{name}.txt"))]
    flags = ["--disable-pip", "--require-hashes", "--format", "json", "--output", str(output)]
    subprocess.run(  # noqa: S603 -- our own words
        [auditor, *flags, "--progress-spinner", "off", *locks],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,  # it ends with 1 for a find and for a service that is not there: the report tells
    )
    return orjson.loads(output.read_bytes()) if output.exists() else None


def main() -> None:
    """The command; its argument is the folder for pip-audit."""
    try:
        said = verdict(_report(Path(sys.argv[1])))
    except (OSError, subprocess.CalledProcessError):
        said = Verdict(2, ["pip-audit could not be installed: nothing was audited"])
    for line in said.lines:
        sys.stdout.write(f"audit: {line}\n")
    sys.exit(said.status)


if __name__ == "__main__":
    main()
