"""Synthetic scenarios, runs and jobs for tests."""

import importlib.util
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dumbbell.engines import engine as find_engine
from dumbbell.engines.prepared import Prepared
from dumbbell.plan import make
from dumbbell.results import Block, Run, digest
from dumbbell.results.tables import of_counters
from dumbbell.scenario import Problem, Scenario, ScenarioError

PATH = {
    "rtt": "20ms",
    "bottleneck": {"rate": "10mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "100p"}},
}
"""The path of a scenario."""
FLOW = {
    "sent_packets": 10,
    "retransmits": 1,
    "arrived_packets": 7,
    "dropped_packets": 1,
    "in_flight_packets": 2,
    "acks_sent": 5,
    "acks_arrived": 3,
    "acks_dropped": 1,
    "acks_in_flight": 1,
    "delivered": 7,
    "delivered_ce": 0,
    "rx_bytes": 8 * 1448,
    "active_ns": 10**9,
}
PORT = {
    "arrived_packets": 10,
    "sent_packets": 7,
    "dropped_overflow": 1,
    "dropped_aqm": 0,
    "dropped_blue": 0,
    "queued_packets": 2,
    "sent_bytes": 7 * 1514,
    "dropped_impairment": 0,
    "ce_marks": 0,
}


def resolved(**more):
    """The single run of a scenario with these keys. By default it has one cubic flow through a dumbbell for 10 s."""
    (found,) = Scenario.model_validate({"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "10s", **more}).expand()
    return found


def planned(engine="sim", **more):
    """Return the plan of a run with these keys, with the places of its values in the scenario."""
    return make(resolved(**more), find_engine(engine).capabilities())


def plain_plan(engine="sim", **more):
    """Return the plan of a run with these keys as plain data."""
    return planned(engine, **more).plan.plain()


def tables(counters):
    """The tables of a run, from numbers by entity."""
    flows, ports = of_counters(counters)
    return {"flows": flows, "ports": ports}


def study_run(cell, blocks, counters, plan=None):
    """A run of a study with these series and numbers by entity, named after its cell."""
    name = "-".join(map(str, cell.values()))
    return Run(
        key=f"key-{name}",
        name=name,
        cell=cell,
        scenario={"flows": []},
        status="ok",
        reasons=(),
        **tables(counters),
        digest=digest(blocks),
        engine={"name": "sim"},
        samples=tuple(blocks),
        plan=plan,
    )


def make_run(key="0" * 32, name="s", cell=None, samples=11, entities=("flow/reno", "port/bottleneck")):
    """A run with evenly spaced samples. The first value of a flow's window is NaN."""
    blocks = []
    for i, entity in enumerate(entities):
        names = ("cwnd", "srtt_ms") if entity.startswith("flow") else ("backlog_bytes",)
        values = np.arange(len(names) * samples, dtype=float).reshape(len(names), samples) + 100 * i
        if entity.startswith("flow"):
            values[0, 0] = np.nan
        t_ns = np.arange(samples, dtype=np.int64) * 100_000_000
        blocks.append(Block(entity, names, t_ns, values))
    return Run(
        key=key,
        name=name,
        cell=cell or {},
        scenario={"duration": "1s"},
        status="ok",
        reasons=(),
        **tables({"flow/reno": FLOW, "port/bottleneck": PORT}),
        digest=digest(blocks),
        engine={"name": "sim"},
        samples=tuple(blocks),
    )


@dataclass(frozen=True)
class MadeJob:
    """A job for an executor that takes a given time and may fail on request."""

    key: str
    does: str = ""
    takes_s: float = 0.0
    notes: Path | None = None
    """Folder for a file with the name of the key, which records start and end of the work in s."""

    def produce(self):
        """A run with the key of the job, unless `does` tells it to raise, to exit or to be killed."""
        began = time.monotonic()
        time.sleep(self.takes_s)
        if self.notes is not None:
            (self.notes / self.key).write_text(f"{began} {time.monotonic()}")
        if self.does == "raise":
            raise ScenarioError([Problem("flows.0.cc", "cubci is unknown", "another", "a.yaml", 3), Problem("path", "is odd", "another")])
        if self.does == "raise what cannot be sent":
            raise Unsendable("a", "b")
        if self.does.startswith("exit"):
            os._exit(int(self.does.split()[1]))
        if self.does.startswith("kill"):
            os.kill(os.getpid(), int(self.does.split()[1]))
        if self.does == "print":
            print("from a worker", flush=True)
        return make_run(self.key)


class CrashingJob(Prepared):
    """A job that crashes its process if the bottleneck has 1 Mbit/s."""

    def produce(self):
        """Compute the run, or kill the process with SIGSEGV."""
        if self.resolved.cell["path.bottleneck.rate"] == "1mbit":
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().produce()


class Unsendable(Exception):
    """An exception that cannot be unpickled."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def docs_script(name):
    """Return a module of docs/, which is no package: a writer of generated pages."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_flow(name, mbit):
    """A run of 8 s with one flow of this goodput, Mbit/s."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "10p"}}}
    (resolved,) = Scenario.model_validate({"name": name, "path": path, "flows": [{"cc": "cdg"}], "duration": "8s"}).expand()
    counters = {"flow/cdg": {"start_ns": 0, "active_ns": 8 * 10**9, "rx_bytes": round(mbit * 1e6), "retransmits": 0}}
    known = {"scenario": resolved.settings.model_dump(mode="json"), "plan": {"ports": []}, "engine": {"name": "sim"}}
    return Run(key="0", name=name, cell={}, status="ok", reasons=(), **tables(counters), digest="", samples=(), **known)
