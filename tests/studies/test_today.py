"""Studies as hosts of today can have them."""

import pytest

from dumbbell.errors import BadInput
from dumbbell.study import Request, beside, find_part
from dumbbell.study.reproduction import run_part
from dumbbell.study.today import on_hosts_of_today


def test_linux_of_then_is_the_host_and_freebsd_is_left_out():
    _, part = find_part("teacup", None)
    asked = part.scenarios(Request(quick=True, seeds=1))
    runs, left_out = on_hosts_of_today(asked, "testbed")
    assert {run.cell["cc"] for run in runs} == {"cubic"}
    assert len(runs) == len(asked) / 2
    (line,) = left_out
    assert line.startswith(f"{len(runs)} runs are left out: the engine testbed has no stack 'freebsd-9'")
    for run, then in zip(runs, (run for run in asked if run.cell["cc"] == "cubic"), strict=True):
        assert (run.name, run.cell) == (then.name, then.cell)
        assert {flow.stack.base for flow in run.settings.flows} == {"host"}
        assert (run.settings.duration, run.settings.path.rtt) == (then.settings.duration, then.settings.path.rtt)


def test_a_study_that_no_host_of_today_can_be_is_refused_with_the_reasons(tmp_path):
    study, part = find_part("sce", "one-flow")
    with pytest.raises(BadInput) as caught:
        run_part(study, part, Request(quick=True, seeds=1), "testbed", tmp_path / "out")
    said = "--engine testbed: no run of this part is one that hosts of today can have (27 runs are left out: the engine testbed has no SCE"
    assert str(caught.value).startswith(said)
    assert not (tmp_path / "out").exists()


def test_the_kernel_s_hosts_have_the_stack_of_the_kernel():
    _, part = find_part("teacup", None)
    asked = part.scenarios(Request(quick=True, seeds=1))
    runs, _ = on_hosts_of_today(asked, "kernel")
    assert len(runs) == len(asked) / 2
    assert {flow.stack.base for run in runs for flow in run.settings.flows} == {"linux-6.12"}
    assert {run.settings.engine for run in runs} == {"kernel"}


def test_runs_of_the_kernel_are_compared_with_the_simulator_s_by_cell(make_run):
    def made(delay, *throughputs):
        cell = {"cc": "reno", "bandwidth_mbit": 10.0, "delay_ms": delay}
        return [make_run({**cell, "seed": seed}, value, 90.0) for seed, value in enumerate(throughputs, 1)]

    kernel, sim = [*made(80.0, 7.0, 9.0), *made(160.0, 5.0)], [*made(80.0, 8.1, 8.1), *made(160.0, 5.5)]
    goodput, srtt = beside.agreement(kernel, sim).records()
    assert (goodput["flows of cells"], goodput["agree"]) == ("2", "50.0 %")
    assert (srtt["agree"], srtt["target"]) == ("100.0 %", "≥ 90 %: met")
    (miss,) = beside.misses(kernel, sim).records()
    assert miss["difference"] == "10.00 %"
    assert "delay_ms 160.0" in miss["cell"]
