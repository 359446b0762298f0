"""A command that ends with its starter: `python -m demo.leash COMMAND ...`.

One rule: when standard input ends, the command gets SIGTERM, as from any service manager, and its
exit code is ours. Whatever it prints goes to standard error, which is a file here: nobody reads a pipe.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def main(command: list[str]) -> int:
    """Run it, and end it when standard input does."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)

    def terminate_at_end() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        process.terminate()

    threading.Thread(target=terminate_at_end, daemon=True).start()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
