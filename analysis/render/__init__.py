"""Plain values in, text or JSON out.

One rule: nothing here computes a statistic. What is printed was worked out in `explain`; only its
unit and its place on the screen are decided here.
"""
