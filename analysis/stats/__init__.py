"""Numbers about numbers: medians, lines, and how far to trust them.

One rule: no interval is given that was not shown to cover, and what too few points cannot say is refused.
"""
