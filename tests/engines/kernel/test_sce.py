"""Kernels with the changes for SCE: what they can run, how Linux is set up, and what other kernels refuse."""

import json

import pytest

from dumbbell.engines import engine
from dumbbell.engines.kernel import binary, build
from dumbbell.engines.kernel import engine as kernel_engine
from dumbbell.engines.kernel.series import series
from dumbbell.engines.linux import cache
from dumbbell.errors import BadInput
from dumbbell.plan import make
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare, refuse
from dumbbell.scenario import Scenario, ScenarioError

NAME = "6.12-sce"
AS_BUILT = {"sce_scale_bytes": 536, "sce_cut_twice": True, "dctcp_window_cut": True, "dctcp_sce_latch": True}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """The engine with a kernel that the cache says has the changes; it cannot boot."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    kernel_engine._variant.cache_clear()
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / binary.LINUX).touch()
    wanted = series("6.12")
    facts = {"version": "6.12.117", "series": "6.12", "recipe": wanted.recipe, "own": {"with": {"sce": wanted.recipe_of("sce")}}}
    (tmp_path / "key" / binary.DESCRIPTION).write_text(json.dumps(facts))
    binary.give_name(NAME, "key")
    yield engine(f"kernel:{NAME}")
    kernel_engine._variant.cache_clear()


def scenario(engine_name=f"kernel:{NAME}", duration="1s", **changes):
    flow = {"cc": "reno-sce", "stack": {"base": "linux-6.12", **AS_BUILT}, "ecn": True, "host": {"cached_ssthresh": "5p"}}
    document = {
        "name": "sce",
        "engine": engine_name,
        "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "cake", "sce": "single"}}},
        "flows": [{**flow, **changes}],
        "duration": duration,
    }
    (found,) = Scenario.model_validate(document).expand()
    return found


def script(kernel, **changes):
    plan = make(scenario(**changes), kernel.capabilities()).plan
    return kernel.compile(plan)


def test_a_scenario_with_sce_becomes_sysctls_parameters_and_a_ramp(kernel):
    found = script(kernel)
    lines = found.files["script"].splitlines()
    ramps = [line.split() for line in lines if line.startswith("qdisc ")]
    assert [(words[1], words[3:]) for words in ramps] == [("net", ["root", "1:", "cake", "sce", "65535"])] * 2
    assert not any(" sce" in line for name, text in found.files.items() if name.endswith(".tc") for line in text.splitlines())
    sysctls = {line.split(" ", 2)[2] for line in lines if line.startswith("sysctl ") and "tcp_sce" in line}
    assert sysctls == {"net.ipv4.tcp_sce 1", "net.ipv4.tcp_sce_keeps_ce 1"}
    places = [line.split()[-1] for line in lines if line.startswith("run init - cp")]
    assert places == [f"/sys/module/tcp_reno_sce/parameters/{name}" for name in ("scale_bytes", "cut_twice")]
    assert found.metadata["parameters"] == {"reno-sce.scale_bytes": "536", "reno-sce.cut_twice": "1"}
    assert any("ssthresh 5" in line for name, text in found.files.items() if name.endswith(".ip") for line in text.splitlines())


def test_rules_of_5_1_are_bits_of_a_sysctl(kernel):
    rules = {"prr_below_ssthresh": "retransmission", "tso_defer": "head-old", "cwnd_limited": "at-maximum", "ack_full_push": False}
    stack = {"base": "linux-6.12", **rules, "tso_rtt_log": None}
    lines = (
        script(kernel, cc={"kind": "dctcp", "count": "acked", "window_cut": True}, stack=stack, sce_echo=True).files["script"].splitlines()
    )
    assert any(line.endswith("net.ipv4.tcp_rules_5_1 15") for line in lines)
    assert any(line.endswith("net.ipv4.tcp_tso_rtt_log 0") for line in lines)
    assert {line.split()[-1] for line in lines if "/sys/module" in line} == {
        f"/sys/module/tcp_dctcp/parameters/dctcp_{name}" for name in ("count_acked", "window_cut")
    }


@pytest.mark.usefixtures("kernel")
def test_a_rule_that_the_kernel_lacks_is_an_error():
    with pytest.raises(ScenarioError, match="two-ticks is no rule of the kernel"):
        refuse([scenario(stack={"base": "linux-6.12", "tso_defer": "two-ticks"})])


@pytest.mark.parametrize("changes", [{}, {"cc": "reno"}, {"cc": "reno", "sce_echo": False}])
def test_other_kernels_refuse_sce_by_name(changes):
    with pytest.raises(ScenarioError) as caught:
        refuse([scenario("kernel", **changes)])
    said = str(caught.value)
    assert "the engine kernel has no" in said
    assert "SCE" in said


def test_changes_that_the_series_lacks_are_an_error():
    with pytest.raises(BadInput, match=r"--with sc: the series 6.12 has no such changes; expected one of bpf, sce, state"):
        build.Request(sets=("sc",), name="x").of_series(series("6.12"))
    assert build.Request(sets=("sce",)).named().name == NAME
    asked = build.Request(sets=("sce",), name="x").of_series(series("6.12"))
    assert [patch.name for patch in asked.patches] == [patch.name for patch in series("6.12").patches_of("sce")]
    assert "CONFIG_TCP_CONG_RENO_SCE=y" in asked.config


@pytest.mark.usefixtures("kernel")
def test_a_kernel_whose_changes_have_changed_is_not_current(tmp_path):
    assert binary.named(NAME).is_current
    path = tmp_path / "key" / binary.DESCRIPTION
    facts = json.loads(path.read_text())
    facts["own"]["with"]["sce"] = "other"
    path.write_text(json.dumps(facts))
    assert not binary.named(NAME).is_current


@pytest.fixture(scope="module")
def built():
    """The kernel with the changes for SCE of the user's cache, whose name it has."""
    found = binary.named(NAME)
    if found is None or not found.is_current:
        pytest.skip("no kernel 6.12-sce; `dumbbell kernel build --with sce` builds it")
    return f"kernel:{NAME}"


@pytest.mark.parametrize("cc", ["reno-sce", "dctcp-sce", "cubic-sce", "dctcp"])
def test_the_kernel_marks_echoes_and_answers_as_the_simulator_does(built, cc):
    asked = scenario(cc=cc, sce_echo=True, duration="20s")
    kernel, sim = execute(prepare([asked.on(name) for name in (built, "sim")]))
    assert [kernel.status, sim.status] == ["ok", "ok"], (kernel.reasons, sim.reasons)
    goodputs = [next(iter(run.summary.flows.values()))["flow_goodput_mbit"] for run in (kernel, sim)]
    assert goodputs[0] == pytest.approx(goodputs[1], rel=0.03)
    marks = [run.counters["port/bottleneck"]["sce_marks"] for run in (kernel, sim)]
    assert marks[0] > 100
    assert marks[0] == pytest.approx(marks[1], rel=0.2)
