"""The sets of scenarios: their coverage, and that both engines accept them."""

from dataclasses import replace

import pytest

from dumbbell.agreement.qdiscs import is_randomised
from dumbbell.agreement.sets import as_yaml, find_set
from dumbbell.agreement.shared import Shared
from dumbbell.agreement.space import left_to_chance, randomised
from dumbbell.engines import engine
from dumbbell.engines.kernel.capabilities import capabilities as kernel_capabilities
from dumbbell.errors import BadInput
from dumbbell.running.prepare import refuse
from dumbbell.scenario import Flow, Scenario
from dumbbell.scenario.passing import least_rate_bps
from dumbbell.scenario.units import FRAME_BYTES

_CPU_S_PER_PACKET = 8e-6
"""Limit of the kernel engine."""


@pytest.fixture
def shared(tables):
    return Shared.of(*tables)


@pytest.fixture
def wide(tables, everything):
    """The features that the kernel engine shares with an engine that supports the same as it."""
    return Shared.of(tables[0], everything)


def bottleneck_of(scenario):
    """The queue of this name, of a dumbbell or among named stages."""
    return scenario.stages["bottleneck"] if scenario.stages else scenario.path.bottleneck


def faults_of(scenario):
    """Return the faults of the scenario's delay."""
    return (scenario.stages["delay"] if scenario.stages else scenario.path.delay).planned_faults()


def rtt_of(scenario):
    """The base RTT of a dumbbell, or about that of what was made of one."""
    return 2 * int(scenario.stages["delay"].delay) if scenario.stages else int(scenario.path.rtt)


def flows_of(scenario):
    return sum(flow.count for flow in scenario.flows)


def kernel_cpu_s(scenario):
    packets = least_rate_bps(scenario) * int(scenario.duration) / (8 * FRAME_BYTES * 1e9)
    return scenario.repeat * (0.2 + _CPU_S_PER_PACKET * packets)


def test_only_what_both_engines_support_is_shared(tables):
    kernel, sim = tables
    shared = Shared.of(kernel, sim)
    assert set(shared.cc) == set(kernel.cc) & set(sim.cc)
    assert "reno-sce" not in shared.cc
    assert "tc" not in Shared.of(kernel, kernel).qdisc
    assert shared.needs_ecn >= {"dctcp"}
    assert shared.option <= set(kernel.stack["linux-6.12"].options)
    assert shared.shapers("cake")[0] == "cake"
    assert "cake" not in shared.shapers("pfifo")


def test_engines_that_share_nothing_cannot_be_compared(tables):
    kernel, sim = tables
    with pytest.raises(BadInput, match=r"^the engines kernel and sim share no qdisc; expected engines that can be compared$"):
        Shared.of(replace(kernel, qdisc={"tc": kernel.qdisc["tc"]}), sim)


@pytest.mark.parametrize("name", ["smoke", "standard", "random", "pairs"])
@pytest.mark.parametrize("reach", ["shared", "wide"])
def test_both_engines_accept_every_scenario(name, reach, request):
    table = request.getfixturevalue(reach)
    found = find_set(name, table, count=300 if name == "random" else None, starts=2).scenarios
    runs = [run for scenario in found for run in scenario.expand()]
    assert len({scenario.name for scenario in found}) == len(found)
    refuse([run.on("kernel") for run in runs])
    if reach == "shared":
        refuse([run.on("sim") for run in runs])
    for scenario in found[:60]:
        assert Scenario.from_text(as_yaml(scenario)) == scenario


@pytest.mark.parametrize("name", ["smoke", "standard", "random", "pairs"])
def test_several_flows_have_several_jittered_starts(name, shared):
    asked = find_set(name, shared, starts=7)
    assert asked.starts == 7
    for scenario in asked.scenarios:
        several = flows_of(scenario) > 1 or is_randomised(bottleneck_of(scenario).qdisc.kind)
        several |= any(traffic.kind == "transfers" for traffic in scenario.background) or bool(faults_of(scenario))
        several |= any(flow.cc.kind in randomised() for flow in scenario.flows)
        assert scenario.repeat == (7 if several else 1)
        assert all(bool(flow.start.jitter) == several for flow in scenario.flows)
        if several:
            assert all(int(flow.start.jitter) >= max(5e8, 4 * rtt_of(scenario)) for flow in scenario.flows)


def test_the_smoke_set_is_small_and_has_every_name(shared, wide):
    found = find_set("smoke", shared).scenarios
    assert sum(map(kernel_cpu_s, found)) < 35
    for table in (shared, wide):
        found = find_set("smoke", table).scenarios
        assert {flow.cc.kind for scenario in found for flow in scenario.flows} == {"reno", "cubic", "dctcp"} & set(table.cc)
        assert {bottleneck_of(scenario).qdisc.kind for scenario in found} == set(table.qdisc)
    assert any(flow.bytes for scenario in found for flow in scenario.flows)


def test_the_standard_set_has_every_pair_and_every_condition(shared, wide):
    for table, least, most in ((shared, 140, 17 * 10), (wide, 150, 17 * 10)):
        found = find_set("standard", table).scenarios
        assert least <= len(found) <= most
        ccs = {"reno", "cubic", "dctcp"} & set(table.cc)
        pairs = {(scenario.flows[0].cc.kind, bottleneck_of(scenario).qdisc.kind) for scenario in found}
        assert pairs == {(cc, qdisc) for cc in ccs for qdisc in table.qdisc}
        conditions = [(least_rate_bps(scenario), rtt_of(scenario)) for scenario in found]
        assert len(set(conditions)) == 16
        assert all(conditions.count(condition) >= len(found) // 16 - 1 for condition in conditions)
        counts = [flows_of(scenario) for scenario in found]
        assert all(counts.count(n) > len(found) / 8 for n in (1, 2, 3, 4))


def test_the_random_set_draws_the_other_controls_as_well(shared):
    found = find_set("random", shared, count=300, starts=2).scenarios
    drawn = [flow.cc.kind for scenario in found for flow in scenario.flows]
    others = set(shared.cc) - {"reno", "cubic", "dctcp"}
    assert len(others) >= 5
    assert others <= set(drawn)
    assert 0.2 < sum(cc in others for cc in drawn) / len(drawn) < 0.6


def test_a_set_of_one_control_has_single_flows_on_the_same_paths_for_all(shared):
    bic, cubic = (find_set("random", shared, seeds=[5], count=20, ccs=[cc]) for cc in ("bic", "cubic"))
    assert (bic.name, bic.title) == ("random-bic", "random-bic-5")
    assert [scenario.path for scenario in bic.scenarios] == [scenario.path for scenario in cubic.scenarios]
    assert all(flows_of(scenario) == 1 and scenario.flows[0].cc.kind == "bic" and not scenario.background for scenario in bic.scenarios)
    assert len({rtt_of(scenario) for scenario in bic.scenarios}) > 15
    with pytest.raises(BadInput, match=r"^congestion control 'bik' is not shared \(did you mean 'bic'\?\); expected one of reno, "):
        find_set("random", shared, ccs=["bik"])
    with pytest.raises(
        BadInput,
        match=r"^the set smoke has always the same scenarios; expected --cc with the sets random, pairs, stability and state alone$",
    ):
        find_set("smoke", shared, ccs=["bic"])
    with pytest.raises(BadInput, match=r"^--cc 'bic,cubic': expected one congestion control with the set random$"):
        find_set("random", shared, ccs=["bic", "cubic"])


def test_a_set_of_one_control_has_several_starts_where_they_are_asked_for(shared):
    once, often = (find_set("random", shared, seeds=[5], count=20, ccs=["bic"], starts=starts).scenarios for starts in (None, 7))
    assert [scenario.path for scenario in once] == [scenario.path for scenario in often]
    assert {scenario.repeat for scenario in once} == {1, 10}
    assert all(scenario.repeat == 7 and scenario.flows[0].start.jitter for scenario in often)
    assert {scenario.repeat for scenario in find_set("random", shared, seeds=[5], count=20, ccs=["nv"]).scenarios} == {10}


def test_what_runs_once_draws_no_random_numbers(shared):
    found = find_set("random", shared, seeds=[5], count=60, ccs=["bic"]).scenarios
    assert all(left_to_chance(scenario) == (scenario.repeat > 1) for scenario in found)
    assert {left_to_chance(scenario) for scenario in found} == {True, False}
    assert all(left_to_chance(scenario) for scenario in find_set("random", shared, count=5, ccs=["cdg"]).scenarios)
    faults = [scenario for scenario in find_set("random", shared, count=60, starts=2).scenarios if faults_of(scenario)]
    assert faults
    assert all(map(left_to_chance, faults))


def test_pairs_have_two_controls_on_any_path(shared):
    found = find_set("pairs", shared, seeds=[5])
    assert (found.title, found.starts, len(found.scenarios)) == ("pairs-5", 10, 40)
    drawn = set()
    for scenario in found.scenarios:
        first, second = (flow.cc.kind for flow in scenario.flows)
        assert first != second
        assert scenario.repeat == 10
        assert all(flow.count == 1 and flow.start.jitter for flow in scenario.flows)
        drawn |= {first, second}
    assert len(drawn) > 12
    assert len({(rtt_of(scenario), least_rate_bps(scenario)) for scenario in found.scenarios}) == 40
    few = find_set("pairs", shared, seeds=[5], count=12, ccs=["reno", "bic", "vegas"]).scenarios
    assert [scenario.path for scenario in few] == [scenario.path for scenario in found.scenarios[:12]]
    assert {flow.cc.kind for scenario in few for flow in scenario.flows} == {"reno", "bic", "vegas"}
    with pytest.raises(BadInput, match=r"^--cc 'bic': expected two congestion controls or more with the set pairs$"):
        find_set("pairs", shared, ccs=["bic"])


def test_a_drawn_scenario_does_not_depend_on_the_others(shared):
    ten, thirty = (find_set("random", shared, seeds=[3], count=count).scenarios for count in (10, 30))
    assert ten == thirty[:10]
    assert find_set("random", shared, seeds=[4], count=10).scenarios[0].path != ten[0].path


def test_scenarios_of_several_seeds_are_pooled(shared):
    both = find_set("random", shared, seeds=[3, 4, 3], count=10)
    assert (both.title, both.seeds) == ("random-3-4", (3, 4))
    assert both.scenarios == tuple(each for seed in (3, 4) for each in find_set("random", shared, seeds=[seed], count=10).scenarios)
    with pytest.raises(BadInput, match=r"^the set smoke has always the same scenarios; expected one --seed, of its jittered starts$"):
        find_set("smoke", shared, seeds=[3, 4])


def test_the_random_set_covers_a_wide_range_at_limited_cost(shared):
    found = find_set("random", shared, seeds=[11], count=300, starts=2).scenarios
    rates = [least_rate_bps(scenario) / 1e6 for scenario in found]
    rtts = [rtt_of(scenario) / 1e6 for scenario in found]
    assert 0.2 <= min(rates) < 0.6
    assert 80 < max(rates) <= 100
    assert 1 <= min(rtts) < 1.2
    assert 250 < max(rtts) <= 300
    assert {flows_of(scenario) for scenario in found} == set(range(1, 9))
    assert all(kernel_cpu_s(scenario) / scenario.repeat < 1.1 for scenario in found)
    assert {bottleneck_of(scenario).shaper_kind for scenario in found} == set(shared.shaper)
    assert {flow.cc.kind for scenario in found for flow in scenario.flows} == set(shared.cc)
    assert {str(flow.ecn) for scenario in found for flow in scenario.flows} == {"None", "True", "False"}
    for what in ("bytes", "duration", "rtt", "src"):
        assert any(getattr(flow, what) is not None for scenario in found for flow in scenario.flows)
    assert any(len({flow.cc.kind for flow in scenario.flows}) > 1 for scenario in found)
    assert any(scenario.path.impairments for scenario in found)
    assert any(scenario.background for scenario in found)


def test_whatever_both_engines_support_is_drawn(wide):
    found = find_set("random", wide, count=300, starts=2).scenarios
    assert {bottleneck_of(scenario).qdisc.kind for scenario in found} == set(wide.qdisc)
    assert {impairment.kind for scenario in found for impairment in scenario.path.impairments} == {"outage", "rate"}
    assert any(scenario.background for scenario in found)
    assert any(flow.direction == "reverse" for scenario in found for flow in scenario.flows)
    assert "htb" in {bottleneck_of(scenario).shaper_kind for scenario in found}
    assert len({scenario.path.mtu for scenario in found}) == 4
    over_tcp = [entry for scenario in found for entry in (*scenario.flows, *scenario.background) if hasattr(entry, "cc")]
    kinds = {entry.kind: entry for scenario in found for entry in scenario.background}
    assert set(kinds) == {"exchange", "onoff", "page", "ping", "streaming", "transfers", "udp"}
    for what in ("mss", "dscp"):
        assert {type(entry) for entry in over_tcp if getattr(entry, what)} >= {Flow, *(type(kinds[kind]) for kind in ("page", "transfers"))}
    assert any(entry.dscp for scenario in found for entry in scenario.background if entry.kind == "ping")
    assert {entry.opens for entry in over_tcp if hasattr(entry, "opens")} == {"sender", "receiver", "client", "server"}
    assert any(flow.host.reads for scenario in found for flow in scenario.flows)
    assert any(entry.host.nodelay for entry in over_tcp)
    cakes = [bottleneck_of(scenario).qdisc for scenario in found if bottleneck_of(scenario).qdisc.kind == "cake"]
    assert len({cake.diffserv for cake in cakes}) > 3
    assert any(cake.wash for cake in cakes)
    assert any(cake.ingress for cake in cakes)
    assert {key for scenario in found for key in faults_of(scenario) or ()} == {"loss", "jitter", "reorder", "duplicate", "corrupt"}
    assert {(faults_of(scenario) or {}).get("loss", {}).get("kind") for scenario in found} == {None, "random", "gilbert"}
    assert any(bottleneck_of(scenario).trace for scenario in found)
    assert any(scenario.hosts for scenario in found)
    assert {flow.path for scenario in found if scenario.paths for flow in scenario.flows} == {"whole", "part"}


def test_codepoints_are_not_drawn_where_a_second_queue_looks_at_them(shared):
    found = [each for each in find_set("random", shared, seeds=[577215664, 693147180, 142857142], count=67).scenarios if each.stages]
    seconds = [(each, each.stages["second"].qdisc.kind) for each in found]
    assert "fq" in {kind for _, kind in seconds}
    assert not any(getattr(entry, "dscp", 0) for each, kind in seconds if kind == "fq" for entry in (*each.flows, *each.background))


def test_codepoints_are_not_drawn_where_only_one_engine_looks_at_them(wide):
    found = [scenario for scenario in find_set("random", wide, count=300).scenarios if bottleneck_of(scenario).qdisc.kind == "fq"]
    assert found
    assert not any(getattr(entry, "dscp", 0) for scenario in found for entry in (*scenario.flows, *scenario.background))


def test_a_kernel_of_another_series_is_compared_with_the_stack_of_that_series():
    newer, sim = kernel_capabilities("kernel:7.3", "7.3"), engine("sim").capabilities()
    for pair in ((newer, sim), (sim, newer)):
        shared = Shared.of(*pair)
        assert shared.stack == "linux-7.3"
        assert {"initial_cwnd", "sack_compression", "rcvbuf_low_rtt_us"} <= shared.option
        drawn = find_set("random", shared, [3], 12).scenarios
        bases = {flow.stack.base for scenario in drawn for flow in scenario.flows if hasattr(flow, "stack")}
        assert bases == {"linux-7.3"}
        assert any(isinstance(flow.get("stack"), dict) for each in drawn for flow in each.dump()["flows"])
    both = Shared.of(kernel_capabilities(), newer)
    assert both.stack == "linux-6.12"
    assert not any(
        "stack" in flow and flow["stack"] == "linux-7.3"
        for each in find_set("random", both, [3], 12).scenarios
        for flow in each.dump()["flows"]
    )
