"""`dumbbell plan FILE`: a sketch of a scenario's network, the number of its runs and their estimated cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from dumbbell.cli.executor import ClusterOption, WorkersOption
from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import JsonOption, human_size, human_time, print_columns, print_json
from dumbbell.cli.scenario_runs import FileArgument, MostCellsOption, OutOption, SetOption, read_sample
from dumbbell.errors import BadInput, EnvironmentFault, printable

if TYPE_CHECKING:
    from dumbbell.engines.cost import Estimate


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="plan")(_plan)


def _plan(
    file: FileArgument,
    values: SetOption = None,
    out: OutOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    most_cells: MostCellsOption = None,
    hosts: HostsOption = None,  # noqa: ARG001
    json: JsonOption = False,
) -> None:
    """Sketch the network of a scenario's first run, show how many runs it has, and estimate their time and disk space on this machine.

    Of more than 300 runs a sample is checked and the rest estimated from it; `dumbbell run` checks all. With `until:` the numbers are those
    of the fewest repeats that a cell may have, and of the most.
    With --json also the plan of the first run: everything its engine is given, with all defaults filled in.
    """
    from dumbbell.engines import cost
    from dumbbell.engines.sweep import MOST_KEPT
    from dumbbell.plan.sketch import sketch

    if cluster is not None:
        workers = _threads(cluster, workers)
    scenario = read_sample(file, out, most_cells, values or ())
    missing, folder, checked = scenario.missing, scenario.folder, len(scenario.runs)
    runs = [each.run for each in missing]
    counts = [round(sum(each.least for each in missing)), round(sum(each.most for each in missing))]
    packed = cluster is not None and counts[0] > MOST_KEPT
    least = cost.estimate(runs, workers, [each.least for each in missing], packed)
    most = cost.estimate(runs, workers, [each.most for each in missing], packed)
    loads = {path: sha256 for run in scenario.runs for sha256, path in run.libraries.items()}
    if json:
        counted = {"name": scenario.name, "out": str(folder), "runs": scenario.least, "checked": checked, "missing": counts[0]}
        several = {"most": {"runs": scenario.most, "missing": counts[1], **most.__dict__}} if scenario.most > scenario.least else {}
        print_json({**counted, **least.__dict__, **several, "libraries": loads, "plan": scenario.runs[0].plan.plain()})
        return
    about = "about " if scenario.is_sample else ""
    lacking = _span(*(f"{count:,}" for count in counts))
    estimates = least, most
    rows = [
        ("runs", _span(f"{scenario.least:,}", f"{scenario.most:,}")),
        ("missing", f"{about}{lacking} (the others are in {folder})" if counts[0] < scenario.least else lacking),
        ("packets", f"at most {about}{most.packets:,}"),
        ("time", f"{_time(estimates)} on {least.workers} processors ({_span(*(human_time(each.cpu_s) for each in estimates))} of CPU)"),
        ("disk", f"about {_span(*(human_size(each.disk_bytes) for each in estimates))} in {folder}"),
    ]
    rows += [("loads", f"{path} (SHA-256 {sha256[:10]}), with `dumbbell run --allow-library` only") for path, sha256 in loads.items()]
    if scenario.is_sample:
        rows.insert(1, ("checked", f"{checked} runs, evenly spaced (`dumbbell run` checks all)"))
    for line in sketch(scenario.runs[0].plan):
        typer.echo(printable(line))
    typer.echo()
    print_columns(rows)


def _threads(where: str, workers: int | None) -> int:
    """Those of the workers of a cluster that can run something. Raises `BadInput`, `EnvironmentFault`."""
    from dumbbell.engines.cluster.survey import survey
    from dumbbell.executor.cluster import Cluster

    if workers is not None:
        raise BadInput(f"--workers {workers} is of this machine, and --cluster {where} of others; expected the one or the other")
    with Cluster(where) as cluster:
        known = cluster.threads
        count = sum(each.threads for each in survey(cluster) if "" in each.engines.values()) if known is None else known
    if not count:
        raise EnvironmentFault(f"{where}: there are no workers that run dumbbell; `dumbbell cluster {where}` says what there is")
    return count


def _time(estimates: Sequence[Estimate]) -> str:
    return f"about {_span(*(human_time(each.wall_s) for each in estimates))}"


def _span(least: str, most: str) -> str:
    """`12`, or `12 to 120`."""
    return least if least == most else f"{least} to {most}"
