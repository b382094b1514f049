"""Facts of its machines that a run records: how busy they were, and the state of their hardware and kernels before and after the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.engines.testbed.facts import Facts

if TYPE_CHECKING:
    from dumbbell.results import Block

_ROWS = "machine"
"""The agent's file (machine.c): time in ns, then ticks since booting, busy, stolen and all."""
_SETTINGS = ("net.ipv4.", "net.core.")


def loads(folders: Mapping[str, Path]) -> Iterator[Block]:
    """The series of machines, by name, whose agents have left their files in these folders."""
    from dumbbell.results import Block

    for name, folder in folders.items():
        path = folder / _ROWS
        rows = np.fromfile(path, dtype="<f8").reshape(-1, 4) if path.is_file() else np.empty((0, 4))
        spent = np.diff(rows, axis=0)
        passed = spent[:, 3] > 0
        if passed.any():
            shares = spent[passed][:, 1:3] / spent[passed][:, 3:]
            yield Block(f"host/{name}", ("cpu", "steal"), rows[1:, 0][passed].astype(np.int64), np.ascontiguousarray(shares.T))


def recorded(before: Facts, after: Facts) -> dict[str, Any]:
    """Return the facts of a machine for run.json: settings, and for its data devices driver, offloads and their counts during the run."""
    devices = {}
    for name, device in before.devices.items():
        if device.hardware is None or name not in after.devices:
            continue
        now = after.devices[name]
        devices[name] = {
            "driver": dict(device.hardware.driver),
            "speed_mbps": device.hardware.speed_mbps,
            "mtu": device.mtu,
            "offloads": sorted(feature for feature, each in device.hardware.features.items() if each.on),
            "coalescing": device.hardware.coalescing,
            "counters": {counter: [value, now.counters.get(counter)] for counter, value in device.counters.items()},
        }
    return {
        "version": before.kernel.version,
        "sysctls": {name: value for name, value in before.kernel.sysctls.items() if name.startswith(_SETTINGS)},
        "devices": devices,
        "steal": after.processors.steal_since(before.processors.ticks) if after.kernel.boot_id == before.kernel.boot_id else None,
        "tracking": before.processors.tracking,
    }
