"""What a proxy adds, measured side by side: turnscope and others in front of one scripted upstream.

One rule: every contestant gets the same bytes at the same pace from the same two programs, in the same
run; a figure without its neighbours means nothing. Not part of the installed packages.
"""
