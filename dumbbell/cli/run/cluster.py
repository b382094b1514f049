"""`dumbbell cluster WHERE`: the workers that `--cluster WHERE` would use, or the job that it would submit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_columns, print_json, show
from dumbbell.errors import EnvironmentFault


def command(
    where: Annotated[str, typer.Argument(metavar="WHERE", help="tcp://HOST:PORT, local:N, or a file such as slurm.yaml.")],
    json: JsonOption = False,
) -> None:
    """Show the workers of a cluster and what they can run. For a file of jobs, print the script that dumbbell would submit.

    This command computes nothing, and submits no job. `dumbbell run FILE --cluster WHERE` uses the workers.
    """
    from dumbbell.executor.cluster import Cluster
    from dumbbell.running.cluster.survey import engines, survey

    with Cluster(where) as cluster:
        if (script := cluster.script()) is not None:
            if json:
                print_json({"threads": cluster.threads, "script": script})
            else:
                show(script.rstrip("\n"))
            return
        found = survey(cluster)
    if json:
        print_json({"workers": [asdict(worker) for worker in found]})
    elif found:
        rows: list[tuple[str, ...]] = [("worker", "threads", "dumbbell", "system", *engines())]
        for each in found:
            can = ["yes" if not each.engines.get(name, "-") else "no" for name in engines()]
            known = (str(each.host.get(name, "-")) for name in ("dumbbell", "release"))
            rows.append((each.address, str(each.threads), *known, *can))
        print_columns(rows)
        for each in found:
            if each.refused:
                note(f"{each.address}: {each.refused}")
            for name, why in each.engines.items():
                if why:
                    note(f"{each.address}: {name}: {why}")
    if not any(not why for each in found for why in each.engines.values()):
        there = f"none of {len(found)} workers can run an engine as it is here" if found else "there are no workers"
        raise EnvironmentFault(f"{where}: {there}; expected some with the same build of dumbbell")
