"""`dumbbell plan FILE`: a sketch of a scenario's network, the number of its runs and their estimated cost."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.cli.executor import ClusterOption, WorkersOption
from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import JsonOption, human_size, human_time, print_columns, print_json, show
from dumbbell.cli.run.template_command import TemplateCommand
from dumbbell.cli.scenario_runs import FileArgument, MostCellsOption, OutOption, SetOption, read_sample
from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.plan.sketch import sketch
from dumbbell.running import cost
from dumbbell.running.cost import Estimate
from dumbbell.running.sweep import MOST_KEPT

command_class = TemplateCommand


def command(
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

    If there are more than 300 runs, dumbbell checks a sample and estimates the rest. `dumbbell run` checks all. With `until:` it
    shows the numbers for the minimum and the maximum of runs that a cell may have. With --json it also prints the plan of the first run:
    everything its engine is given, with all defaults filled in.
    """
    if cluster is not None and workers is not None:
        raise BadInput(f"--workers {workers} is of this machine, and --cluster {cluster} of others; expected the one or the other")
    scenario = read_sample(file, out, most_cells, values or ())
    able = None if cluster is None else _able(cluster, {run.engine for run in scenario.runs})
    missing, folder, checked = scenario.missing, scenario.folder, len(scenario.runs)
    runs = [each.run for each in missing]
    counts = [round(sum(each.least for each in missing)), round(sum(each.most for each in missing))]
    packed = cluster is not None and counts[0] > MOST_KEPT
    least, most = (
        cost.estimate(runs, workers, listed, packed, able) for listed in ([each.least for each in missing], [each.most for each in missing])
    )
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
    in_kernel = {path: sha256 for run in scenario.runs for sha256, path in run.in_kernel.items()}
    rows += [
        ("kernel loads", f"{path} (SHA-256 {sha256[:10]}), with `dumbbell run --allow-module` only") for path, sha256 in in_kernel.items()
    ]
    programs = {name: command for run in scenario.runs for name, command in run.own_programs.items()}
    rows += [("runs program", f"{name}: {command}, with `dumbbell run --allow-program` only") for name, command in programs.items()]
    if scenario.is_sample:
        rows.insert(1, ("checked", f"{checked} runs, evenly spaced (`dumbbell run` checks all)"))
    for line in sketch(scenario.runs[0].plan):
        show(line)
    show("")
    print_columns(rows)


def _able(where: str, engines: set[str]) -> dict[frozenset[str], int]:
    """Threads of the workers of a cluster, by those of these engines that they can run. Raises `BadInput`, `EnvironmentFault`."""
    from dumbbell.executor.cluster import Cluster
    from dumbbell.running.cluster.survey import survey
    from dumbbell.running.cluster.sweep import refuse_real_time

    refuse_real_time(engines)
    with Cluster(where) as cluster:
        if cluster.threads is not None:  # of workers that are not there yet
            return {frozenset(engines): cluster.threads}
        found: dict[frozenset[str], int] = {}
        for worker in survey(cluster):
            if can := frozenset(name for name in engines if worker.engines.get(name) == ""):
                found[can] = found.get(can, 0) + worker.threads
    if lacking := engines.difference(*found):
        what = f"{where}: there are no workers that run the engine {' or '.join(sorted(lacking))}"
        raise EnvironmentFault(f"{what}; `dumbbell cluster {where}` says what there is")
    return found


def _time(estimates: Sequence[Estimate]) -> str:
    return f"about {_span(*(human_time(each.wall_s) for each in estimates))}"


def _span(least: str, most: str) -> str:
    """`12`, or `12 to 120`."""
    return least if least == most else f"{least} to {most}"
