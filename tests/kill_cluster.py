"""Kills in the middle of a sweep on a cluster: `python tests/kill_cluster.py [--seed N] [--runs N] [--workers N] [--drivers N]`.

A scheduler and two workers of dask, each with its nanny, compute a sweep, while workers and the process that has the store are killed at
random moments. In the end each run must be there once, and its stored form (run.json but for the command, and its samples) must be that of
a run in one process.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from dumbbell.results import Store

SCENARIO = """\
name: s
path: {rtt: 40ms, bottleneck: {rate: 50mbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic, start: {jitter: 100ms}}, {cc: reno}]
duration: 10s
"""
FEWEST_S = 0.3
"""Between the beginning of a sweep and a kill."""


def run(scenario, out, *more):
    """The process that has the store."""
    command = [sys.executable, "-m", "dumbbell", "run", str(scenario), "--out", str(out), "--json", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def children(process):
    """The processes that one has started, and those that they have."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = each.parent.name, each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[1]) == process:
            found += [int(number), *children(int(number))]
    return found


def computing(nannies):
    """The workers: of what nannies have started those that dask has forked or spawned, not what keeps their resources."""
    found = []
    for each in (child for nanny in nannies for child in children(nanny.pid)):
        try:
            command = Path(f"/proc/{each}/cmdline").read_bytes()
        except OSError:
            continue
        if b"spawn_main" in command:
            found.append(each)
    return found


def stored(folder):
    """Return a store's content of each run, by key; and the number of places that each run lies in."""
    store = Store(folder)
    found, places = {}, Counter(key for pack in store.packs.all() for key in pack.keys)
    places.update(key for key in store.folders() if (Path(folder) / key / "run.json").exists())
    for key in store.stored_keys():
        assert store.is_whole(key), key
        record = json.loads(store.record(key))
        for other in ("command", "sha256"):
            record.pop(other, None)
        samples = hashlib.sha256(store.get(key).frame.write_csv().encode()).hexdigest()
        found[key] = (json.dumps(record, sort_keys=True), samples)
    return found, places


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=10, help="kills of workers")
    parser.add_argument("--drivers", type=int, default=3, help="kills of the process that has the store")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(attack(chosen, Path(folder)))


def attack(chosen, folder):
    """Runs, kills, and compares; whether anything is wrong."""
    draw = random.Random(chosen.seed)
    scenario = folder / "s.yaml"
    scenario.write_text(f"{SCENARIO}repeat: {chosen.runs}\n")
    address_file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    program = "from distributed.cli.{0} import main; main()"
    arguments = ("--scheduler-file", str(address_file), "--no-dashboard")
    processes = [subprocess.Popen([sys.executable, "-c", program.format("dask_scheduler"), "--port", "0", *arguments], **quiet)]
    one = ("--nworkers", "1", "--nthreads", "1", "--memory-limit", "0")
    nannies = [subprocess.Popen([sys.executable, "-c", program.format("dask_worker"), *arguments, *one], **quiet) for _ in range(2)]
    processes += nannies
    try:
        while not address_file.exists():
            time.sleep(0.1)
        address = json.loads(address_file.read_text())["address"]
        began = time.monotonic()
        assert run(scenario, folder / "one").wait() == 0
        alone_s = time.monotonic() - began
        print(f"one process: {chosen.runs} runs in {alone_s:.0f} s", flush=True)
        kills = ["worker"] * chosen.workers + ["driver"] * chosen.drivers
        draw.shuffle(kills)
        processes.append(driver := run(scenario, folder / "many", "--cluster", address))
        done = Counter()
        for which in kills:
            time.sleep(draw.uniform(FEWEST_S, max(alone_s / len(kills), 1.0)))
            if which == "driver":
                if driver.poll() is None:
                    driver.kill()
                    driver.wait()
                    done[which] += 1
                processes.append(driver := run(scenario, folder / "many", "--cluster", address))
            elif victims := computing(nannies):
                os.kill(draw.choice(victims), signal.SIGKILL)
                done[which] += 1
        _, said = driver.communicate()
        assert driver.returncode == 0, said
        again = run(scenario, folder / "many")
        assert again.wait() == 0
    finally:
        for each in processes:
            each.terminate()
        for each in processes:
            each.wait()
    expected, _ = stored(folder / "one")
    found, places = stored(folder / "many")
    print(f"killed: {dict(done)}; {len(found)} of {len(expected)} runs there, {sum(count > 1 for count in places.values())} twice")
    different = [key for key in expected if found.get(key) != expected[key]]
    print(f"{len(different)} differ from those of one process")
    missed = done != Counter(worker=chosen.workers, driver=chosen.drivers)
    if missed:
        print("the sweep was over before all kills: more --runs are needed")
    return bool(missed or different or found.keys() != expected.keys() or max(places.values()) > 1)


if __name__ == "__main__":
    main()
