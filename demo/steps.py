"""Steps that take a while: a moving line on a terminal, one plain line each anywhere else.

One rule: what a step leaves behind is the same line in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.console import Console

T = TypeVar("T")

_TEXT: Final = "{task.description}"


class Steps:
    """Runs steps one after the other and shows where it stands."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        # Gone when all is done: the lines that stay are the steps' own. `disable` without a terminal,
        # where rich would print the bar once more at the end.
        self._progress = Progress(
            SpinnerColumn(),
            _TEXT,
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def run(self, doing: str, work: Callable[[], T], said: Callable[[T], str]) -> T:
        """Do one step: `doing` while it lasts, then the line that `said` makes of its result."""
        self._progress.update(self._task, description=doing)
        result = work()
        self._console.print(f"  {said(result)}")
        self._progress.advance(self._task)
        return result
