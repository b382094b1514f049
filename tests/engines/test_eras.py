"""Earlier versions of congestion controls: on every stack of Linux, each gives another run than today's, and is an error in the kernel by
name."""

import pytest
from support import resolved

from dumbbell.engines import engine
from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import ScenarioError

ERAS = [("cubic", "2.0"), ("cubic", "2.1"), ("cubic", "2.2"), ("htcp", "linux-2.6.18"), ("westwood", "linux-2.6.16")]
STACKS = ["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6"]


def run(cc, stack):
    """Thirty seconds of a flow through a queue of a BDP, which the receive window of an old stack fills as well."""
    path = {"rtt": "40ms", "bottleneck": {"rate": "5mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}
    return compute(resolved(path=path, flows=[{"cc": cc, "stack": stack}], duration="30s"), on="sim")


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(("kind", "version"), ERAS)
def test_an_earlier_version_runs_on_every_stack_and_is_not_todays(kind, version, stack):
    today = "2.3" if kind == "cubic" else "today"
    then, now = run({"kind": kind, "version": version}, stack), run({"kind": kind, "version": today}, stack)
    assert then.digest != now.digest
    assert then.flows.rows()[0]["rx_bytes"] > 0.5 * now.flows.rows()[0]["rx_bytes"]


@pytest.mark.parametrize(("kind", "version"), [("cubic", "2.0"), ("htcp", "linux-2.6.18"), ("bic", None), ("westwood", "today")])
def test_controls_of_an_early_stack_are_of_its_time_unless_the_scenario_says_otherwise(kind, version):
    parameters = {"initial_ssthresh": 100} if version is None else {"version": version}
    assert run(kind, "linux-2.6").digest == run({"kind": kind, **parameters}, "linux-2.6").digest


@pytest.mark.parametrize("stack", ["linux-6.12", "linux-5.1-sce"])
def test_controls_that_no_kernel_has_run_on_stacks_older_than_they_are(stack):
    for kind in ("bbr3", "fast"):
        assert run(kind, stack).flows.rows()[0]["rx_bytes"] > 0.8 * 30 * 5e6 / 8


def test_the_kernel_has_no_earlier_versions():
    for kind, version in ERAS:
        assert "version" not in engine("kernel").capabilities().cc[kind].parameters
        with pytest.raises(ScenarioError, match="version"):
            prepare([resolved(flows=[{"cc": {"kind": kind, "version": version}}])], on="kernel")
