"""The screen for a journal without exchanges: what to do next.

One rule: it can be followed as it stands, so it names the folder that was looked in and whole commands.
"""

from __future__ import annotations

import shlex


def nothing_recorded(folder: str, *, usual: bool) -> str:
    """What to do next; `usual` when the folder is the one that both commands take by themselves."""
    journal = "" if usual else f" --journal {shlex.quote(folder)}"
    return f"""\
Nothing has been recorded in {folder} yet.

  1  Start the proxy in front of your inference server:
         turnscope-proxy{journal} --upstream http://127.0.0.1:8000
  2  Give your chat client the proxy's address as its base URL:
         http://127.0.0.1:8484/v1
     The proxy prints the line to use for this machine, for others and for containers.
  3  Ask the client something, then:
         turnscope report{journal}

If a proxy has been running all the time, it writes to another folder: name that with --journal.
"""
