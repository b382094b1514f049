"""Facts about the machine that runs are computed on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

from dumbbell.executor import default_workers


@cache
def host() -> Mapping[str, Any]:
    """For host.json."""
    from dumbbell import __version__

    return {
        "dumbbell": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "processors": default_workers(),
    }
