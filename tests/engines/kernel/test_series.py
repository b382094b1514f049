"""Runs on kernels of other series, if they are built."""

import pytest
from required import missing
from support import resolved

from dumbbell.engines.kernel import binary
from dumbbell.errors import EnvironmentFault
from dumbbell.running.prepare import compute
from dumbbell.scenario import ScenarioError


@pytest.fixture(scope="module")
def newer():
    """The engine with Linux 7.3."""
    try:
        binary.find("7.3")
    except EnvironmentFault as fault:
        missing("kernel:7.3", fault)
    return "kernel:7.3"


def queue(qdisc, rate="10mbit"):
    return {"rtt": "20ms", "bottleneck": {"rate": rate, "qdisc": qdisc}}


DUALPI2 = {
    "kind": "tc",
    "command": "dualpi2 limit 1000p target 15ms tupdate 16ms alpha 0.16 beta 3.2 step_thresh 1ms overflow",
}


def test_a_run_names_its_kernel_and_is_repeated(newer):
    settings = {"path": queue("fq_codel"), "flows": [{"cc": "cubic"}], "duration": "3s", "engine": newer}
    run, again = (compute(resolved(**settings)) for _ in range(2))
    assert run.status == "ok"
    assert (run.engine["name"], run.engine["version"].rpartition(".")[0]) == ("kernel:7.3", "7.3")
    assert run.flows.rows()[0]["rx_bytes"] > 3e6
    assert again.frame.equals(run.frame)
    older = compute(resolved(**settings | {"engine": "kernel"}))
    assert older.key != run.key
    assert compute(resolved(**settings | {"engine": {"kernel": "6.12"}})).key == older.key


def test_dualpi2_has_two_queues_and_marks(newer):
    flows = [{"cc": "cubic", "ecn": True}]
    run = compute(resolved(path=queue(DUALPI2), flows=flows, duration="5s", engine=newer))
    assert run.status == "ok"
    port = next(row for row in run.ports.rows() if row["port"] == "bottleneck")
    assert port["ce_marks"] > 0
    assert port["dropped_aqm"] == 0
    full = compute(resolved(path=queue({**DUALPI2, "command": "dualpi2 limit 5p"}), flows=flows, duration="5s", engine=newer))
    assert next(row for row in full.ports.rows() if row["port"] == "bottleneck")["dropped_overflow"] > 0


@pytest.mark.parametrize(
    ("engine", "words", "expected"),
    [
        ("kernel", "limit 5p", "dualpi2: this kernel has no such queue discipline"),
        ("kernel:7.3", "limit 0p", "dualpi2: the kernel refuses it: Numerical result out of range"),
        ("kernel:7.3", "limt 5p", "dualpi2: there is no word limt"),
        ("kernel:7.3", "target 5p", "dualpi2: target takes no 5p"),
    ],
)
@pytest.mark.usefixtures("newer")
def test_what_the_kernel_refuses_is_said_of_the_entry(engine, words, expected):
    with pytest.raises(ScenarioError) as error:
        compute(resolved(path=queue({"kind": "tc", "command": f"dualpi2 {words}"}), flows=[{"cc": "reno"}], duration="1s", engine=engine))
    assert f"path.bottleneck.qdisc: {expected}" in str(error.value)


def test_an_unknown_kernel_is_an_error_of_the_scenario():
    for engine, expected in {"kernel:none": "expected one of 6.12, 7.3", "sim:2": "the engine sim has no variants such as '2'"}.items():
        with pytest.raises(ScenarioError, match=expected):
            compute(resolved(path=queue("codel"), flows=[{"cc": "reno"}], duration="1s", engine=engine))


def test_the_kernels_own_buffers(newer):
    """The window of 6.12 ends at its 6 MiB, that of 7.3 does not."""
    host = {"rmem": "kernel", "wmem": ["4KiB", "16KiB", "64MiB"]}
    path = {"rtt": "200ms", "bottleneck": {"rate": "200mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}
    settings = {"path": path, "flows": [{"cc": "cubic", "host": host}], "duration": "8s"}
    older, newest = (compute(resolved(**settings, engine=engine)) for engine in ("kernel", newer))
    assert not any("tcp_rmem" in sysctls for sysctls in older.engine["sysctls"].values())
    assert older.engine["memory"] == "5G"
    limited = [run.flows.rows()[0]["rwnd_limited_ms"] for run in (older, newest)]
    assert limited[0] > 4000 > 100 > limited[1]
    assert newest.flows.rows()[0]["rx_bytes"] > 1.1 * older.flows.rows()[0]["rx_bytes"]
