"""DuckDB as a store uses it: a database in memory, and queries that stand in a file each.

One rule: `execute` and `fetchall`, nothing more: no extension is fetched, no file but the journal's own is
read, and none is left behind.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from .base import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

MEMORY: Final = "320MB"
"""What a query may hold; what goes beyond is put into a folder of its own below the system's."""
MOST_THREADS: Final = 4


class MovedError(StoreError):
    """A file that was there is gone, or cannot be read any more."""


@contextmanager
def database(threads: int = MOST_THREADS) -> Iterator[DuckDBPyConnection]:
    """A database that lives as long as the context. What DuckDB itself fails at is a StoreError."""
    import duckdb  # noqa: PLC0415 -- 0.1 s that -h, and tail on a short journal, need not

    with tempfile.TemporaryDirectory(prefix="turnscope-", ignore_cleanup_errors=True) as aside:
        config: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": MEMORY,
            "temp_directory": aside,
            "threads": min(threads, os.cpu_count() or 1),
        }
        try:
            with duckdb.connect(":memory:", config=config) as db:
                yield db
        except duckdb.IOException as fault:
            raise MovedError(f"a file of the journal could not be read: {fault}") from fault
        except RuntimeError as fault:
            if "interrupted" in str(fault):
                raise KeyboardInterrupt from fault  # how DuckDB tells of Ctrl-C within a query
            raise
        except duckdb.Error as fault:
            raise StoreError(f"a query on the journal failed: {fault}") from fault


def sql(name: str) -> str:
    """The text of a query."""
    return (files(__package__) / "sql" / f"{name}.sql").read_text("utf-8")


def ask(db: DuckDBPyConnection, name: str, **values: Any) -> list[tuple[Any, ...]]:
    """All rows that a query gives. Raises duckdb.Error."""
    return db.execute(sql(name), values or None).fetchall()


def tell(db: DuckDBPyConnection, **variables: Any) -> None:
    """Set what queries ask for with `getvariable`. Raises duckdb.Error."""
    for name, value in variables.items():
        db.execute(f"SET VARIABLE {name} = $value", {"value": value})
