"""From a sealed exchange to one line on disk. Pure: the recorder opens the files."""
