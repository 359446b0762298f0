"""Bytes and times: where messages begin and end, and what travels to the recorder.

Nothing here knows a vendor, opens a file, reads a clock or imports an event loop.
"""
