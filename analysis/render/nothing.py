"""The screen for a journal without exchanges: what to do next.

One rule: it can be followed as it stands, so it names the folder that was looked in and whole commands.
"""

from __future__ import annotations

import shlex


def nothing_recorded(
    folder: str, *, usual: bool, proxy: str = "turnscope-proxy", report: str = "turnscope"
) -> str:
    """What to do next; `usual` when the folder is the one that both commands take by themselves.

    `proxy` and `report` are the two commands as they can be typed: with a path where the shell does
    not find them by name.
    """
    journal = "" if usual else f" --journal {shlex.quote(folder)}"
    make = "     (make run and make analyze, in a checkout, are the same commands.)\n"
    return f"""\
Nothing has been recorded in {folder} yet.

  1  Start the proxy in front of your inference server:
         {proxy}{journal} --upstream http://127.0.0.1:8000
  2  Give your chat client the proxy's address as its base URL:
         http://127.0.0.1:8484/v1
     The proxy prints the line to use for this machine, for others and for containers.
  3  Ask the client something, then:
         {report} report{journal}
{make if "/" in proxy else ""}
If a proxy has been running all the time, it writes to another folder: name that with --journal.
"""
