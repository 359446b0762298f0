"""Where records come from.

`base` is the seam, `recorded` the border to proxy, `contents` makes sense of what a journal's files
hold, and `folder` alone touches the disk.
"""
