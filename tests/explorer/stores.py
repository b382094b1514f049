"""Results folders for tests of the explorer, and a collection of runs that are not there."""

from dataclasses import replace
from hashlib import sha256

import numpy as np

from dumbbell.api import run
from dumbbell.comparing.difference import difference
from dumbbell.comparing.format import Format, Metric, Tolerance
from dumbbell.comparing.reference import ReferenceValue
from dumbbell.explorer.collection import Rows
from dumbbell.explorer.reference import reference_document
from dumbbell.results import Block, Store, Table, load
from dumbbell.scenario import Scenario

HOSTILE = "<img src=x onerror=alert(1)>"


def small(path, /, **changes):
    """Two flows through one queue, one run or a sweep."""
    scenario = {
        "name": "small",
        "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "50p"}}},
        "flows": [{"cc": "cubic", "name": "one"}, {"cc": "reno", "name": "two"}],
        "duration": "3s",
        "sample": "50ms",
    }
    return run(Scenario(**{**scenario, **changes}), path)


def sweep(path):
    """2 x 6 runs."""
    return small(path, name="sweep", sweep={"path.rtt": [f"{5 << i}ms" for i in range(6)], "path.bottleneck.rate": ["5mbit", "10mbit"]})


def million(path):
    """A run with 17 series of 60,001 samples, as far as the page draws them."""
    return small(
        path,
        name="million",
        flows=[{"cc": "cubic", "name": "c", "count": 2}, {"cc": "reno", "name": "r", "count": 2}],
        duration="300s",
        sample="5ms",
    )


def stored(path, *runs):
    """A folder of runs from memory."""
    store = Store(path)
    store.request([(each.name, each.cell, each.key) for each in runs])
    for each in runs:
        store.write(each, "dumbbell run it.yaml")
    return path


def spike(path):
    """A run whose window has a million samples, of which one is not like the others."""
    (found,) = small(None, flows=[{"cc": "cubic", "name": "one"}])
    value = np.full((1, 1_000_000), 10.0)
    value[0, 637_421] = 100.0
    block = Block("flow/one", ("cwnd",), np.arange(1_000_000) * 1_000_000, value)
    return stored(path, replace(found, key=sha256(b"spike").hexdigest()[:32], samples=(block,)))


def hostile(path):
    """A run in which everything that has a name has one that would run a script, if it were taken for HTML."""
    (found,) = small(None)

    def renamed(table, *columns):
        return Table(
            table.name, {name: [f"{HOSTILE}{each}" for each in of] if name in columns else of for name, of in table.columns.items()}
        )

    changed = replace(
        found,
        key=sha256(b"hostile").hexdigest()[:32],
        name=HOSTILE,
        cell={HOSTILE: HOSTILE, "other</script><script>alert(1)</script>": "</textarea>"},
        status="warn",
        reasons=(f"{HOSTILE} was seen",),
        scenario={**found.scenario, HOSTILE: "</script><script>alert(1)</script>"},
        flows=renamed(found.flows, "flow", "group"),
        ports=renamed(found.ports, "port"),
        samples=tuple(replace(block, entity=block.entity.replace("/", f"/{HOSTILE}")) for block in found.samples),
    )
    second = replace(changed, key=sha256(b"second").hexdigest()[:32], cell={HOSTILE: "another"})
    return stored(path, changed, second)


class Listed:
    """A collection of so many runs of which only the table is known."""

    def __init__(self, count):
        self._rows = Rows()
        for i in range(count):
            facts = {"key": sha256(str(i).encode()).hexdigest()[:32], "name": "many", "status": "ok", "reasons": [], "engine": "sim"}
            cell = {"flows.0.cc": ("cubic", "reno")[i % 2], "path.rtt": f"{10 * (i % 50)}ms", "batch": i // 50}
            self._rows.add({**facts, "seed": i, "ccs": [cell["flows.0.cc"]]}, cell, {"throughput_mbit": i / 7, "drops": float(i)})

    def index(self):
        return self._rows.document("many", "runs")

    def keys(self):
        return self._rows.facts["key"]

    def detail(self, key):
        return {"key": key, "series": [], "entities": {}}

    def series(self, _key):
        return iter(())


class Packets:
    """A collection of one connection: its segments (ns, first number, the number after its last, bytes sent before, ECN field), its
    acknowledgments (ns, number, SACK block or None), and what else has samples."""

    def __init__(self, segments, acks, **others):
        columns = dict(
            zip(("segment_start", "segment_end", "segment_again", "segment_ecn"), list(zip(*segments, strict=True))[1:], strict=True)
        )
        blocks = [(at, *block) for at, _, block in acks if block]
        times = {
            **{name: [each[0] for each in segments] for name in columns},
            **{name: [each[0] for each in acks] for name in ("acknowledged", "ack_echo", "ack_sack")},
            **{name: [each[0] for each in blocks] for name in ("sack_start", "sack_end")},
            **{name: [at for at, _ in samples] for name, samples in others.items()},
        }
        columns |= {
            "acknowledged": [number for _, number, _ in acks],
            "ack_echo": [0] * len(acks),
            "ack_sack": [block is not None for _, _, block in acks],
            "sack_start": [low for _, low, _ in blocks],
            "sack_end": [high for _, _, high in blocks],
            **{name: [value for _, value in samples] for name, samples in others.items()},
        }
        self._series = {name: (np.array(times[name], np.int64), np.array(values, float)) for name, values in columns.items()}

    def index(self):
        rows = Rows()
        facts = {"key": "1", "name": "packets", "status": "closed", "reasons": [], "engine": "capture", "seed": None, "ccs": []}
        rows.add(facts, {"client": "a", "server": "b"}, {"bytes": 1.0})
        return rows.document("packets", "capture")

    def keys(self):
        return ["1"]

    def detail(self, key):
        listed = [{"entity": "flow/forward", "name": name, "samples": len(of[1]), "idle": False} for name, of in self._series.items()]
        return {"key": key, "series": listed, "entities": {"flow/forward": {"label": "a → b", "direction": "forward"}}}

    def series(self, _key):
        return iter([("flow/forward", name, samples) for name, samples in self._series.items()])


def measure(runs):
    """Drops by cell, and a number that takes more than one run."""
    found = {((run.cell["path.bottleneck.rate"], run.cell["path.rtt"]), "drops"): [run.summary.run["drops"]] for run in runs}
    together = {(("all", "all"), "spread"): [float(np.ptp([run.summary.run["drops"] for run in runs]))]}
    return {**found, **(together if len(runs) > 1 else {})}


PUBLISHED = Format(
    name="small",
    columns=("rate", "rtt", "metric", "value"),
    keys=("rate", "rtt"),
    numbers=frozenset(),
    metrics={"drops": Metric("packets", "Drops", Tolerance(absolute=3)), "spread": Metric("packets", "Spread", Tolerance(absolute=1e9))},
    measure=measure,
)


def compared(folder):
    """The document of a sweep with published numbers that are 0, 2, 4 ... less, and the difference that it is made of."""
    runs = list(load(folder))
    ours = measure(runs)
    values = [ReferenceValue(key, metric, value[0] - 2 * i, 0) for i, ((key, metric), value) in enumerate(ours.items())]
    found = difference(ours, values, PUBLISHED)
    return reference_document([(PUBLISHED, found)], runs), found
