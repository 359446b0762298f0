"""The project's own source as data: which module imports what, on which line.

One rule: files are parsed, never imported, so a layer can be judged even when it is broken.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Import:
    """One imported module."""

    name: str
    """Dotted and absolute: the module itself, not the name taken from it."""
    line: int
    relative: bool
    typing_only: bool
    """True below `if TYPE_CHECKING`: it binds nothing when the program runs."""


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    """Dotted: `proxy.wire.frame`; a package has the name of its folder."""
    path: str
    """Below the checkout, as messages print it."""
    text: str
    known: frozenset[str] = frozenset()
    """Names of all modules: they tell `from a import b` of a module from that of a name."""

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        """The package in which its relative imports start."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All imports of the file, wherever they stand."""
        guarded = {
            id(node)
            for block in ast.walk(self.tree)
            if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
            for statement in block.body
            for node in ast.walk(statement)
        }
        found = []
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            relative = isinstance(node, ast.ImportFrom) and node.level > 0
            names = self._names(node)
            found += [Import(n, node.lineno, relative, id(node) in guarded) for n in names]
        return tuple(found)

    def _names(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        base = node.module or ""
        if node.level:
            above = self.package.split(".")[: len(self.package.split(".")) + 1 - node.level]
            base = ".".join([*above, base] if base else above)
        inner = [f"{base}.{alias.name}" for alias in node.names]
        return sorted({name if name in self.known else base for name in inner})


def modules(*folders: str) -> list[Module]:
    """All modules below these folders of the checkout."""
    paths = [p for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]
    named = {_name(path): path for path in paths}
    known = frozenset(named)
    return [
        Module(name, str(path.relative_to(ROOT)), path.read_text("utf-8"), known)
        for name, path in named.items()
    ]


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
