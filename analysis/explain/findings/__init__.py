"""Findings: claims about the user's traffic, each with its evidence, its size and its doubt.

One rule: a finding repeats figures of the report and never computes one of its own in another way.
"""
