"""Five minutes with real parts: a real server, a real model, a client with too many tools.

One rule: nothing here is measured in a special way. The demo starts the two commands that anybody
starts and reads what they print. It is not part of the installed packages.
"""
