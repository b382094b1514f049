"""The console script, and `python -m dumbbell`."""

from __future__ import annotations

import sys


def main() -> None:
    """Imports the command line where Ctrl-C is told in one line, as it takes a moment, and runs it."""
    try:
        from dumbbell import cli
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
