"""The report as one file for a browser: views as values here, their HTML in the templates beside them.

One rule: nothing is fetched and nothing runs that the page could do without; every picture has its table.
"""
