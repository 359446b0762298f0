"""The report as a screen of text.

One rule: what costs most time stands first; a table that would be empty, or say the same again, is left
out. Single exchanges are `turnscope explain`'s; here they stand only where no turn came to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .exchanges import last_table
from .findings import findings_table
from .headline import headline
from .layout import entries_block, printed, statements_block, table_block
from .masthead import Entry, masthead
from .misses import misses_table
from .prompts import prefix_table
from .speeds import speed_table
from .tools import servers_table, tools_table
from .turn import budget_table, sum_table, unlike
from .working_point import working_point_table

if TYPE_CHECKING:
    from analysis.explain.overview import Overview

    from .screen import Screen
    from .table import Table


MORE: Final = Entry(
    "more",
    "one turn: turnscope explain --last, or --worst; pictures: --open; all figures: --json; formulas:"
    " docs/metrics.md",
)


def report_text(report: Overview, screen: Screen) -> str:
    """The whole report; it ends with a line feed."""
    tables: list[Table | None] = [last_table(report, screen.zone)]
    if report.median is not None:
        tables = [
            # Where the median turn hides what the others cost, the others come first.
            sum_table(report.spent) if unlike(report.median.budget, report.spent) else None,
            budget_table(report.median),
            prefix_table(report),
            tools_table(report, screen.zone),
            servers_table(report, screen.zone),
            misses_table(report.misses) if report.misses.causes else None,
            findings_table(report),
            speed_table(report.median, report.answers),
            working_point_table(report.outlook.working_point),
        ]
    blocks = [
        entries_block(masthead(report.census, screen.zone)),
        statements_block(headline(report)),
    ]
    blocks += [table_block(table) for table in tables if table is not None]
    if report.median is not None:
        blocks.append(entries_block([MORE]))
    return printed(blocks, screen)
