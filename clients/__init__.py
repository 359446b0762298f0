"""Real chat clients and coding agents, one turn each through the proxy, held against what is known of them.

One rule: a client is pointed as its own manual says, and told nothing else. It runs where there is only
loopback, in a home of its own, so it can neither reach out nor read what is the user's. Not part of the
installed packages, and not of CI.
"""
