"""Every way in which an exchange ends, as data: who ends it, when, and what comes of it.

One rule: nothing here is computed. `tests/test_endings_table.py` plays each cell on real sockets, and holds
`docs/endings.md`, which explains the words, to these rows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DASH: Final = "—"
NO_RECORD: Final = "no record"
GOES_ON: Final = "goes on"


class Cell(NamedTuple):
    """One ending. Where it cannot exist, `caller` says why and the rest is empty."""

    who: str
    when: str
    caller: str
    """What it sees, and how the connection ends for it."""
    upstream: str = ""
    outcome: str = ""
    generation: str = ""
    error_kind: str = ""

    @property
    def exists(self) -> bool:
        """False for a dash."""
        return not self.caller.startswith(DASH)

    @property
    def name(self) -> str:
        """For a person."""
        return f"{self.who}, {self.when}"


_TABLE: Final = """
# caller FIN, the upstream answers
connecting        | 504, FIN              | no request, FIN   | upstream_unreachable | none | upstream_unreachable
request head      | 400, FIN              | half a head, FIN  | complete | none | http_error
request body      | 400, FIN              | so far, FIN       | complete | none | http_error
waiting           | all of the reply, FIN | so far, FIN       | complete | complete | -
reply head        | all of the reply, FIN | so far, FIN       | complete | complete | -
first event       | all of the reply, FIN | so far, FIN       | complete | complete | -
mid stream        | all of the reply, FIN | so far, FIN       | complete | complete | -
between exchanges | so far, FIN           | so far, FIN       | no record

# caller FIN, the upstream stops
connecting        | — the FIN reaches it once it is connected
request head      | so far, FIN           | half a head, FIN  | client_gone | none | client_disconnect
request body      | so far, FIN           | so far, FIN       | client_gone | incomplete | client_disconnect
waiting           | so far, FIN           | so far, FIN       | client_gone | incomplete | client_disconnect
reply head        | so far, FIN           | so far, FIN       | client_gone | incomplete | client_disconnect
first event       | so far, FIN           | so far, FIN       | client_gone | incomplete | client_disconnect
mid stream        | so far, FIN           | so far, FIN       | client_gone | incomplete | client_disconnect
between exchanges | — there is nothing to stop: the row above

# caller reset
connecting        | so far, gone          | no request, FIN   | client_gone | incomplete | client_disconnect
request head      | so far, gone          | so far, reset     | client_gone | none | client_disconnect
request body      | so far, gone          | so far, reset     | client_gone | incomplete | client_disconnect
waiting           | so far, gone          | so far, reset     | client_gone | incomplete | client_disconnect
reply head        | so far, gone          | so far, reset     | client_gone | incomplete | client_disconnect
first event       | so far, gone          | so far, reset     | client_gone | incomplete | client_disconnect
mid stream        | so far, gone          | so far, reset     | client_gone | incomplete | client_disconnect
between exchanges | so far, gone          | so far, reset     | no record

# caller silent
connecting        | so far, open          | no request, open  | goes on
request head      | so far, open          | half a head, open | goes on
request body      | so far, open          | so far, open      | goes on
waiting           | — it has said all: it is the upstream's turn
reply head        | — as above
first event       | — as above
mid stream        | — as above
between exchanges | so far, open          | so far, open      | no record

# upstream FIN
connecting        | 502, FIN              | no request, FIN   | upstream_unreachable | none | upstream_unreachable
request head      | so far, FIN           | so far, FIN       | upstream_aborted | none | upstream_reset
request body      | so far, FIN           | so far, FIN       | upstream_aborted | incomplete | upstream_reset
waiting           | so far, FIN           | so far, FIN       | upstream_aborted | incomplete | upstream_reset
reply head        | so far, FIN           | so far, FIN       | upstream_aborted | incomplete | upstream_reset
first event       | so far, FIN           | so far, FIN       | upstream_aborted | incomplete | upstream_reset
mid stream        | so far, FIN           | so far, FIN       | upstream_aborted | incomplete | upstream_reset
between exchanges | so far, FIN           | so far, FIN       | no record

# upstream reset
connecting        | 502, FIN              | no request, gone  | upstream_unreachable | none | upstream_unreachable
request head      | so far, reset         | so far, gone      | upstream_aborted | none | upstream_reset
request body      | so far, reset         | so far, gone      | upstream_aborted | incomplete | upstream_reset
waiting           | so far, reset         | so far, gone      | upstream_aborted | incomplete | upstream_reset
reply head        | so far, reset         | so far, gone      | upstream_aborted | incomplete | upstream_reset
first event       | so far, reset         | so far, gone      | upstream_aborted | incomplete | upstream_reset
mid stream        | so far, reset         | so far, gone      | upstream_aborted | incomplete | upstream_reset
between exchanges | so far, reset         | so far, gone      | no record

# upstream silent
connecting        | — it is the connect time-out's
request head      | — it is the caller's turn
request body      | — it is the caller's turn
waiting           | so far, open          | so far, open      | goes on
reply head        | so far, open          | so far, open      | goes on
first event       | so far, open          | so far, open      | goes on
mid stream        | so far, open          | so far, open      | goes on
between exchanges | — it is the caller's turn

# refused
connecting        | 502, FIN              | nobody            | upstream_unreachable | none | upstream_unreachable
request head      | nothing, FIN          | nobody            | upstream_unreachable | none | upstream_unreachable
request body      | 502, FIN              | nobody            | upstream_unreachable | none | upstream_unreachable
waiting           | — the upstream is connected by then
reply head        | — as above
first event       | — as above
mid stream        | — as above
between exchanges | — as above: the next request uses the same connection

# DNS failure
connecting        | 502, FIN              | nobody            | upstream_unreachable | none | upstream_unreachable
request head      | nothing, FIN          | nobody            | upstream_unreachable | none | upstream_unreachable
request body      | 502, FIN              | nobody            | upstream_unreachable | none | upstream_unreachable
waiting           | — a name is asked for only to connect
reply head        | — as above
first event       | — as above
mid stream        | — as above
between exchanges | — as above: the next request uses the same connection

# TLS failure
connecting        | 502, FIN              | no request, gone  | upstream_unreachable | none | upstream_unreachable
request head      | nothing, FIN          | no request, gone  | upstream_unreachable | none | upstream_unreachable
request body      | 502, FIN              | no request, gone  | upstream_unreachable | none | upstream_unreachable
waiting           | — hands are shaken only to connect; later it is an upstream reset
reply head        | — as above
first event       | — as above
mid stream        | — as above
between exchanges | — as above

# connect time-out
connecting        | 504, FIN              | nobody            | upstream_unreachable | none | upstream_unreachable
request head      | nothing, FIN          | nobody            | upstream_unreachable | none | upstream_unreachable
request body      | 504, FIN              | nobody            | upstream_unreachable | none | upstream_unreachable
waiting           | — the upstream is connected by then
reply head        | — as above
first event       | — as above
mid stream        | — as above
between exchanges | — as above: the next request uses the same connection

# read time-out
connecting        | — it begins with the connection
request head      | so far, reset         | half a head, reset | upstream_timeout | none | upstream_timeout
request body      | so far, open          | so far, open      | goes on
waiting           | so far, reset         | so far, reset     | upstream_timeout | incomplete | upstream_timeout
reply head        | so far, reset         | so far, reset     | upstream_timeout | incomplete | upstream_timeout
first event       | so far, reset         | so far, reset     | upstream_timeout | incomplete | upstream_timeout
mid stream        | so far, reset         | so far, reset     | upstream_timeout | incomplete | upstream_timeout
between exchanges | so far, open          | so far, open      | no record

# our stop
connecting        | so far, reset         | no request, FIN   | shutdown | incomplete | proxy
request head      | so far, reset         | so far, reset     | shutdown | none | proxy
request body      | so far, reset         | so far, reset     | shutdown | incomplete | proxy
waiting           | so far, reset         | so far, reset     | shutdown | incomplete | proxy
reply head        | so far, reset         | so far, reset     | shutdown | incomplete | proxy
first event       | so far, reset         | so far, reset     | shutdown | incomplete | proxy
mid stream        | so far, reset         | so far, reset     | shutdown | incomplete | proxy
between exchanges | so far, FIN           | so far, FIN       | no record

# our kill
connecting        | so far, FIN           | no request, FIN   | proxy_killed | incomplete | proxy
request head      | so far, FIN           | so far, FIN       | proxy_killed | none | proxy
request body      | so far, FIN           | so far, FIN       | proxy_killed | incomplete | proxy
waiting           | so far, FIN           | so far, FIN       | proxy_killed | incomplete | proxy
reply head        | so far, FIN           | so far, FIN       | proxy_killed | incomplete | proxy
first event       | so far, FIN           | so far, FIN       | proxy_killed | incomplete | proxy
mid stream        | so far, FIN           | so far, FIN       | proxy_killed | incomplete | proxy
between exchanges | so far, FIN           | so far, FIN       | no record
"""


def table() -> dict[str, list[Cell]]:
    """The cells of each who, in the order of the moments."""
    found: dict[str, list[Cell]] = {}
    for section in _TABLE.split("# ")[1:]:
        who, *lines = filter(None, section.splitlines())
        cells = [[text.strip() for text in line.split("|")] for line in lines]
        found[who] = [Cell(who, *texts) for texts in cells]
    return found


CELLS: Final = [cell for cells in table().values() for cell in cells]
