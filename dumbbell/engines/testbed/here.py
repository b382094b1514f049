"""A run on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.engines.linux import applications, compile_plan
from dumbbell.engines.linux.collect import Left
from dumbbell.engines.prepared import Prepared
from dumbbell.engines.testbed import local, machines, standing
from dumbbell.engines.testbed.buckets import with_buckets
from dumbbell.engines.testbed.capabilities import NAME
from dumbbell.engines.testbed.lateness import times, too_busy

if TYPE_CHECKING:
    from dumbbell.results import Block, Table


def run(prepared: Prepared, folder: Path) -> Left:
    """Carries out a run; its files are in `folder` then. Raises `EnvironmentFault`."""
    local.require_programs(applications.needed(prepared.plan))
    late = local.lateness()
    made = with_buckets(prepared.plan, late.p99_us)
    script = compile_plan(made.plan, real_time=True)
    script.write(folder)
    machine = local.run(folder, times(made.plan, local.LEAD_S))
    captures = {name: (folder / name).read_bytes() for name in script.captures}
    facts = {"name": NAME, "transport": "local", "machines": {local.MACHINE: machine}, "buckets": list(made.said)} | script.metadata

    def series(blocks: Iterable[Block], _flows: Table) -> Iterator[Block]:
        yield from blocks
        yield from machines.loads({local.MACHINE: folder})

    doubts = (*too_busy(local.MACHINE, late), *standing.doubts(made.plan, folder))
    return Left(folder, made.plan, script.devices, captures, facts, doubts, series=series)
