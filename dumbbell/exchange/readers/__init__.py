"""Files of other tools as runs, a format a module."""
