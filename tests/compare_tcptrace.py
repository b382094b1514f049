"""tcptrace's results for many captures compared with dumbbell's, field by field: `python tests/compare_tcptrace.py [--seed N] [--count N]`.

Scenarios are drawn as for `dumbbell agree random`; each gives the captures of both hosts and of the bottleneck, the first of them mutated
as in tests/record_tcptrace.py as well. Every difference must be one of those that docs/analyze.md lists (tests/tcptrace_faults.py); exit
status 1 if one is not. `--engine kernel` takes the captures of Linux.
"""

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import tcptrace
from record_tcptrace import mutated, packets
from tcptrace_faults import Compared, segment

from dumbbell.agreement.sets import find_set
from dumbbell.agreement.shared import Shared
from dumbbell.engines import engine
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario, ScenarioError


def captures(settings, engine_name):
    """Name -> records of each capture of a scenario and of its mutations; of those that have TCP."""

    def run(points):
        chosen = {**settings, "sample": "0s", "capture": points, "engine": engine_name}
        return compute(Scenario.model_validate(chosen).expand()[0], on=engine_name)

    try:
        taken = run(["hosts", "bottleneck"])
    except ScenarioError:
        # Linux has no such point on some paths.
        taken = run(["hosts"])
    found = {name: list(packets(content)) for name, content in taken.captures.items()}
    found |= dict(mutated(next(records for name, records in found.items() if name.startswith("left"))))
    return {name: records for name, records in found.items() if any(segment(content) for *_, content in records)}


def compared(settings, engine_name):
    """Return for each capture of a scenario its name and kind, its packets and connections, and the differences with the faults that
    explain them."""
    rows = []
    for name, records in captures(settings, engine_name).items():
        both = Compared(records)
        rows.append((settings["name"], name.removesuffix(".pcap"), len(records), sum(map(len, both.known.values())), both.faults))
    return rows


def kinds(rows):
    """Return the number of captures of each kind, as words."""
    return ", ".join(f"{count} {kind}" for kind, count in Counter(row[1] for row in rows).most_common())


def main():
    """Print the comparison."""
    parser = argparse.ArgumentParser(description="dumbbell analyze beside tcptrace")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24, help="scenarios; each has nine captures")
    parser.add_argument("--engine", default="sim")
    asked = parser.parse_args()
    drawn = find_set("random", Shared.of(*(engine(name).capabilities() for name in ("sim", "kernel"))), [asked.seed], asked.count).scenarios
    settings = [scenario.model_dump(mode="json", by_alias=True, exclude_unset=True) for scenario in drawn]
    with ThreadPoolExecutor(2) as pool:
        rows = [row for each in pool.map(lambda each: compared(each, asked.engine), settings) for row in each]
    known, others = {}, []
    for row in rows:
        name, kind, _, _, faults = row
        for cause in {cause for cause, _ in faults}:
            if cause:
                known.setdefault(cause, []).append(row)
        others += [(name, kind, *what) for cause, what in faults if not cause]
    print(f"{len(rows)} captures ({kinds(rows)})")
    print(f"{sum(row[2] for row in rows)} packets, {sum(row[3] for row in rows)} directions, {len(tcptrace.FIELDS)} fields of each")
    for cause, where in sorted(known.items(), key=lambda each: -len(each[1])):
        print(f"  {cause}: {len(where)} captures ({kinds(where)})")
    for other in others:
        print("  differs:", *other)
    print(f"{len(others)} differences that are not explained")
    return bool(others)


if __name__ == "__main__":
    sys.exit(main())
