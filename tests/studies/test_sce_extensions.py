"""The extensions of study sce: CUBIC-SCE, and the implementation as designed."""

import json

import pytest

from dumbbell.engines import engine
from dumbbell.plan import make
from dumbbell.running.prepare import compute
from dumbbell.study import Request, find_part
from dumbbell.study.reproduction import kernel_of
from dumbbell_studies.sce import kernel, kernel_pairs, pairs
from dumbbell_studies.sce.as_designed import conclusions, runs_of
from dumbbell_studies.sce.implementation import DESIGNED, DRAFT
from dumbbell_studies.sce.reductions import BANDWIDTHS_MBIT

CUBIC_SCE = find_part("sce/cubic-sce")[1]
AS_DESIGNED = find_part("sce/as-designed")[1]


def test_cubic_sce_runs_with_every_congestion_control_and_has_no_reference():
    runs = CUBIC_SCE.scenarios(Request())
    assert len(runs) == 360
    assert {run.cell["cc2"] for run in runs} == {"cubic-sce"}
    assert {run.cell["cc1"] for run in runs} == {"cubic", "reno", "reno-sce", "dctcp", "dctcp-sce", "cubic-sce"}
    assert CUBIC_SCE.reference().values == ()
    assert "not in the draft" in CUBIC_SCE.title
    assert "instead of 6 x 5 x 4" in CUBIC_SCE.quick_note


def test_cubic_sce_runs_and_is_reported(dumbbell, keep, make_pair):
    cell = {"queue_mode": "triple-isolate", "cc1": "reno", "cc2": "cubic-sce", "bandwidth_mbit": 10.0, "delay_ms": 20.0, "seed": 1}
    folder = keep([make_pair(cell, (6.0, 3.0), (25.0, 26.0))], part="cubic-sce")
    (row,) = CUBIC_SCE.summaries([make_pair(cell, (6.0, 3.0), (25.0, 26.0))])["fairness"].records()
    assert (row["queue mode"], row["cc2"]) == ("triple-isolate", "cubic-sce")
    assert (row["mean index"], row["mean share of cc1"]) == pytest.approx((0.9, 2 / 3))
    assert "fairness-reno-cubic-sce" in dumbbell("plot", folder, "--list")[1].split()
    assert dumbbell("compare", folder, "sce/cubic-sce")[0] == 2


def test_the_kernel_s_cells_run_with_the_rules_of_the_kernel_beside_them():
    part = find_part("sce/kernel")[1]
    runs = part.scenarios(Request())
    assert len(runs) == 2 * len(kernel.cells()) == 360
    points = {(run.cell["bandwidth_mbit"], run.cell["delay_ms"]) for run in runs}
    assert points >= {(bandwidth, delay) for bandwidth in BANDWIDTHS_MBIT for delay in (40.0, 80.0, 160.0)}
    assert {run.cell["cc"] for run in runs} == {"cubic", "reno", "reno-sce", "dctcp", "dctcp-sce", "cubic-sce"}
    stacks = {run.cell["implementation"]: run.dump()["flows"][0]["stack"] for run in runs}
    assert {stack["base"] for stack in stacks.values()} == {"linux-6.12"}
    assert stacks["rules_5_1_mbit"] == {**stacks["rules_6_12_mbit"], **kernel.LIKE_5_1.options}
    assert 0 < len(part.scenarios(Request(quick=True))) < len(runs)


def test_a_kernel_is_told_the_set_of_changes_that_the_part_needs():
    assert find_part("sce", engine="kernel")[1] is find_part("sce/kernel")[1]
    assert find_part("sce", engine="sim")[1] is find_part("sce/draft")[1]
    assert kernel_of(find_part("sce/kernel")[1], "kernel") == "kernel:6.12-sce"
    assert kernel_of(find_part("sce/kernel")[1], "kernel:mine") == "kernel:mine"
    assert kernel_of(find_part("teacup")[1], "kernel") == "kernel"


def test_pairs_are_compared_with_the_range_of_the_kernel_s_starts(make_pair):
    (key, (low, _, high)), *_ = kernel_pairs.kernel_ranges().items()
    cell = {**dict(zip(("queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms"), key, strict=True)), "seed": 1}
    inside = make_pair(cell, ((low + high) / 2, 1 - (low + high) / 2), (25.0, 26.0))
    outside = make_pair({**cell, "seed": 2}, (0.99, 0.01), (25.0, 26.0))
    for runs, share in (([inside], "100.0 %"), ([outside], "0.0 %")):
        (row,) = [
            row for row in kernel_pairs.agreement(runs).records() if row["compared with the kernel"] == "dumbbell" and row["queue"] == "all"
        ]
        assert (row["cells"], row["inside its range"]) == ("1", share)


def plans(implementation):
    """The plan of the first run of each cell of a quick request."""
    table = engine("sim").capabilities()
    runs = [run for run in AS_DESIGNED.scenarios(Request(quick=True)) if run.cell["implementation"] == implementation.name]
    return {tuple(value for key, value in run.cell.items() if key != "implementation"): make(run, table).plan.plain() for run in runs}


def test_the_implementations_differ_in_named_options_and_nothing_else():
    built, designed = plans(DRAFT), plans(DESIGNED)
    assert built.keys() == designed.keys()
    for cell, plan in designed.items():
        ramps = [[port["qdisc"].get("sce") for port in each["ports"] if port["kind"] == "queue"] for each in (built[cell], plan)]
        single = {"flowblind sce-single", "sce-single"} & set(cell)
        assert (ramps[0] != ramps[1]) == bool(single)
        assert not single or {*ramps[0], *ramps[1]} == {65535, 65534}
        for before, after in zip(built[cell]["workloads"], plan["workloads"], strict=True):
            assert before["stack"] == {"name": "linux-5.1-sce", "options": {}}
            assert after["stack"] == {"name": "linux-5.1-sce", "options": dict(DESIGNED.options)}
            assert after["host"]["cached_ssthresh"] is None
            same = {"stack": None, "host": None}
            assert {**before, **same} == {**after, **same}


def test_as_built_is_the_draft_s_study():
    draft = {str(run.dump()) for run in find_part("sce")[1].scenarios(Request(quick=True))}
    built = {str(run.dump()) for run in AS_DESIGNED.scenarios(Request(quick=True)) if run.cell["implementation"] == DRAFT.name}
    assert built == draft


@pytest.fixture
def both(make_pair):
    """Runs of Reno with Reno and of Reno with Reno-SCE in one queue. The latter is unfair as built and fair as designed."""
    return [
        make_pair(
            {
                "implementation": name,
                "queue_mode": mode,
                "cc1": "reno",
                "cc2": cc2,
                "bandwidth_mbit": bandwidth,
                "delay_ms": delay,
                "seed": 1,
            },
            (bandwidth * 0.95 * share, bandwidth * 0.95 * (1 - share)),
            (delay + 5, delay + 5),
            (10, 1),
        )
        for name, apart in ((DRAFT.name, 0.7), (DESIGNED.name, 0.5))
        for cc2, share, mode in (("reno", 0.5, "flowblind"), ("reno-sce", apart, "flowblind"))
        for bandwidth in pairs.BANDWIDTHS_MBIT
        for delay in pairs.DELAYS_MS
    ]


def test_conclusions_that_change_are_named(both):
    table = conclusions(both)
    rows = {row["claim"]: row for row in table.records()}
    assert set(rows) == {"S018", "S020"} | {"S019"}
    assert (rows["S018"]["as built"], rows["S018"]["as designed"], rows["S018"]["changes"]) == ("pass", "pass", None)
    assert (rows["S020"]["as built"], rows["S020"]["as designed"], rows["S020"]["changes"]) == ("pass", "fail", "yes")
    assert table.title.endswith("1 of 3 change")
    assert len(runs_of(DESIGNED, both)) == len(both) // 2


def test_as_designed_is_reported_and_drawn(dumbbell, keep, both):
    folder = keep(both, part="as-designed")
    status, out, _ = dumbbell("claims", "sce/as-designed", folder, "--json")
    assert status == 0
    assert {claim["id"]: claim["status"] for claim in json.loads(out)["claims"]}["S020"] == "fail"
    for name in ("as-designed", "as-designed-one-flow"):
        assert dumbbell("plot", folder, "--figure", name)[0] == 0
        assert (folder / "figures" / f"{name}.svg").exists()


def test_sce_and_l4s_run_on_the_draft_s_paths_and_are_reported_and_drawn(dumbbell, keep, make_pair, make_run):
    part = find_part("sce/l4s")[1]
    scenarios = part.scenarios(Request())
    assert len(scenarios) == 4 * 4 * 4 * 20
    assert {(run.cell["bandwidth_mbit"], run.cell["delay_ms"]) for run in scenarios} == {
        (bandwidth, delay) for bandwidth in pairs.BANDWIDTHS_MBIT for delay in pairs.DELAYS_MS
    }
    path = {"bandwidth_mbit": 10.0, "delay_ms": 20.0, "seed": 1}
    cell = {"queue": "dualpi2", "low": "prague", **path, "cc1": "prague", "cc2": "cubic", "cc": "prague"}
    made = [make_pair({**cell, "other": "cubic"}, (6.0, 3.0), (21.5, 35.0)), make_run({**cell, "other": "nothing"}, 9.0, 21.0)]
    pair, alone = part.summaries(made)["comparison"].records()
    assert (pair["made for"], pair["used"], pair["wait of 2 (ms)"]) == ("own", pytest.approx(0.9), pytest.approx(15.0))
    assert pair["mean share of 1 (%)"] == pytest.approx(200 / 3)
    assert (alone["wait of 1 (ms)"], alone["mean index"]) == (pytest.approx(1.0), None)
    folder = keep(made, part="l4s")
    assert dumbbell("plot", folder, "--figure", "sce-and-l4s")[0] == 0


@pytest.mark.parametrize("queue", ["cake-sce", "dualpi2"])
def test_an_l4s_flow_is_marked_in_its_own_queue_and_starves_cubic_in_the_other_s(queue):
    (run,) = [
        run
        for run in find_part("sce/l4s")[1].scenarios(Request(quick=True, override={"duration": "30s"}))
        if (run.cell["queue"], run.cell["low"], run.cell["other"], run.cell["bandwidth_mbit"]) == (queue, "prague", "cubic", 50.0)
    ]
    made = compute(run, on="sim")
    rates = [row["flow_goodput_mbit"] for row in made.summary.flows.values()]
    assert sum(rates) > 45
    assert (rates[1] < 5) == (queue == "cake-sce")
