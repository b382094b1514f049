"""The console script, and `python -m dumbbell`."""

from __future__ import annotations

import gc
import sys

_OBJECTS = 50_000
"""New objects after which Python looks for cyclic garbage among them, instead of 700: most are imports, runs and metrics, which stay."""


def main() -> None:
    """Imports the command line, which takes a moment, such that Ctrl-C is reported in one line, and runs it."""
    from dumbbell import completion

    if completion.answered(sys.argv[1:]):  # a shell asks, and somebody waits for it
        return
    gc.set_threshold(_OBJECTS)
    try:
        from dumbbell import cli
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
