"""What the bytes mean, one file a vendor's format. No file knows two; `table` holds their sum.

Nothing here counts tokens, opens a file or reads a clock.
"""
