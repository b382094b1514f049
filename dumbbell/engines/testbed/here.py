"""A run on this machine."""

from __future__ import annotations

from pathlib import Path

from dumbbell.engines.linux import compile_plan
from dumbbell.engines.prepared import Prepared
from dumbbell.engines.testbed import local
from dumbbell.engines.testbed.buckets import with_buckets
from dumbbell.engines.testbed.done import Done, times, too_busy


def run(prepared: Prepared, folder: Path) -> Done:
    """Carries out a run; its files are in `folder` then. Raises `EnvironmentFault`."""
    late = local.lateness()
    made = with_buckets(prepared.plan, late.p99_us)
    script = compile_plan(made.plan, real_time=True)
    for name, text in script.files.items():
        (folder / name).write_text(text, encoding="ascii")
    for name, content in script.arrivals.items():
        (folder / name).write_bytes(content)
    machine = local.run(folder, times(made.plan, local.LEAD_S))
    captures = {name: (folder / name).read_bytes() for name in script.captures}
    facts = {"transport": "local", "machines": {local.MACHINE: machine}, "buckets": list(made.said)} | script.metadata
    return Done(made.plan, script.devices, facts, captures, too_busy(local.MACHINE, late))
