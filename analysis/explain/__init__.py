"""Records in, plain values out: where the time of an exchange went, and what its prompt cost.

One rule: nothing here reads a file, knows a unit's spelling or prints. Times are ns, shares 0 to 1,
and whatever was not measured carries a `Source` that says how it came about.
"""
