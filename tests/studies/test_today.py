"""Studies as hosts of today can have them."""

import pytest

from dumbbell.errors import BadInput
from dumbbell.study import Request, find_part
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
