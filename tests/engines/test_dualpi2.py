"""dualpi2 and ECT(1), from a scenario to results."""

import pytest
from support import PATH, plain_plan

import dumbbell
from dumbbell.documents.problems import ScenarioError
from dumbbell.engines.linux.qdiscs import tc_words

BOTTLENECK = {"rate": "40mbit", "qdisc": "dualpi2"}


def run(tmp_path, bottleneck, *flows, background=(), duration="20s"):
    scenario = {"name": "d", "duration": duration, "path": {"rtt": "20ms", "bottleneck": bottleneck}, "flows": list(flows)}
    return dumbbell.run(dumbbell.Scenario.model_validate({**scenario, "background": list(background)}), out=tmp_path).runs[0]


def classes(found):
    """Return the rows of the bottleneck's queues by name."""
    return {row["tin"].partition("/")[2]: row for row in found.tins.rows() if row["port"] == "bottleneck"}


def qdisc(**keys):
    """Return the plan of the discipline."""
    ports = plain_plan(path={"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "dualpi2", **keys}}})["ports"]
    return next(port["qdisc"] for port in ports if port["kind"] == "queue")


def test_ect1_goes_to_the_l4s_queue_and_shares_the_link_with_cubic(tmp_path):
    found = run(tmp_path, BOTTLENECK, {"cc": "cubic"}, {"cc": "dctcp", "ect": 1}, duration="60s")
    l4s, classic = classes(found)["L"], classes(found)["C"]
    assert l4s["sojourn_median_ms"] < 1.5 < 8 < classic["sojourn_mean_ms"] < 22
    assert 0 < l4s["step_marks"] < l4s["ce_marks"]
    assert l4s["dropped_packets"] == 0
    assert classic["ce_marks"] == 0 < classic["dropped_packets"]
    rates = [flow["rx_bytes"] for flow in found.flows.rows()]
    assert 0.5 < rates[0] / rates[1] < 2


def test_ect0_stays_classic_unless_the_mask_says_otherwise(tmp_path):
    for mask, queue in (("l4s_ect", "C"), ("any_ect", "L")):
        found = run(tmp_path / mask, {"rate": "20mbit", "qdisc": {"kind": "dualpi2", "ecn_mask": mask}}, {"cc": "dctcp"})
        # The SYN of dctcp is ECN-capable too.
        assert classes(found)[queue]["arrived_packets"] > 0 == classes(found)["CL".replace(queue, "")]["arrived_packets"]


@pytest.mark.parametrize("discipline", ["codel", "fq_codel", "pie", "red"])
def test_other_queues_mark_ect1_as_they_mark_ect0(tmp_path, discipline):
    keys = {"min": "30kB", "max": "90kB", "limit": "200kB"} if discipline == "red" else {}
    bottleneck = {"rate": "20mbit", "qdisc": {"kind": discipline, "ecn": True, **keys}}
    flows = [run(tmp_path / str(ect), bottleneck, {"cc": "dctcp", "ect": ect}).flows.rows()[0] for ect in (0, 1)]
    assert flows[0] == flows[1]
    assert flows[0]["ce_arrived"] > 0 == flows[0]["sce_arrived"]


def test_a_threshold_may_be_for_ect1_alone(tmp_path):
    limited = {"kind": "fq_codel", "ce_threshold": "1ms", "ce_threshold_selector": "1/3"}
    flows = [run(tmp_path / str(ect), {"rate": "20mbit", "qdisc": limited}, {"cc": "dctcp", "ect": ect}).flows.rows()[0] for ect in (0, 1)]
    assert flows[0]["ce_arrived"] < flows[1]["ce_arrived"] / 2


def test_ect1_is_no_mark_of_sce_unless_a_queue_makes_it_one(tmp_path):
    cake = {"rate": "20mbit", "shaper": "cake", "qdisc": {"kind": "cake", "sce": True}}
    marked = run(tmp_path / "sce", cake, {"cc": "reno-sce", "stack": "linux-5.1-sce"}).flows.rows()[0]
    sent = run(tmp_path / "l4s", cake, {"cc": "dctcp", "ect": 1}).flows.rows()[0]
    assert marked["sce_arrived"] > 0 == sent["sce_arrived"]


def test_datagrams_of_either_class(tmp_path):
    streams = [
        {"kind": "udp", "name": f"e{ect}", "rate": "4mbit", "measure": True, **({} if ect == "" else {"ect": ect})} for ect in ("", 0, 1)
    ]
    found = run(tmp_path, BOTTLENECK, {"cc": "cubic"}, background=streams)
    assert classes(found)["L"]["arrived_packets"] == pytest.approx(20 * 4e6 / 8 / 1514, rel=0.01)
    delays = {flow["flow"]: flow for flow in found.flows.rows() if flow["flow"].startswith("e")}
    assert delays["e1"]["owd_median_ms"] < 13 < delays["e0"]["owd_median_ms"]
    assert delays["e1"]["ce_arrived"] > 0
    assert delays["e0"]["ce_arrived"] > 0 == delays["e"]["ce_arrived"]
    assert delays["e"]["lost_packets"] > 0 == delays["e0"]["lost_packets"]


@pytest.mark.parametrize(
    ("flow", "what"),
    [
        ({"ect": 1, "ecn": False}, "1 needs ECN, which is off"),
        ({"ect": 1, "sce_echo": True}, "1 is a mark of SCE"),
        ({"ect": 2}, "ect"),
    ],
)
def test_what_contradicts_ect1_is_an_error(flow, what):
    with pytest.raises(ScenarioError, match=what):
        dumbbell.Scenario(name="d", duration="1s", path=PATH, flows=[{"cc": "cubic", **flow}]).expand()


def test_the_rfc_has_defaults_of_its_own():
    linux, rfc = qdisc(), qdisc(variant="rfc9332")
    assert [linux[key] for key in ("tupdate_ns", "alpha", "beta", "limit_packets")] == [16_000_000, 41, 819, 10_000]
    assert [rfc[key] for key in ("tupdate_ns", "alpha", "beta", "limit_packets")] == [15_000_000, 38, 768, 20_000_000 // 32 // 1514]
    assert qdisc(variant="rfc9332", tupdate="16ms")["tupdate_ns"] == 16_000_000


def test_tc_is_told_every_parameter():
    words = tc_words(qdisc())
    assert words == (
        "dualpi2 limit 10000 coupling_factor 2 step_thresh 1000us min_qlen_step 0 drop_on_overload drop_dequeue l4s_ect "
        "classic_protection 10% target 15000us tupdate 16000us alpha 0.16015625 beta 3.19921875 split_gso"
    )
    assert "step_thresh 5p min" in tc_words(qdisc(step_packets="5p", ecn_mask="any_ect", drop_enqueue=True, drop_on_overload=False))


def test_its_state_over_time_obeys_the_coupling_law(tmp_path):
    scenario = {"name": "s", "duration": "10s", "path": {"rtt": "20ms", "bottleneck": BOTTLENECK}, "flows": [{"cc": "cubic"}]}
    written = dumbbell.Scenario.model_validate({**scenario, "series": ["queue"]})
    found = dumbbell.run(written, out=tmp_path).runs[0]
    base, classic, coupled = (found.series("port/bottleneck", f"{name}_probability")[1] for name in ("base", "classic", "coupled"))
    assert 0 < base.max() < 0.5
    assert classic == pytest.approx(base**2)
    assert coupled == pytest.approx(2 * base)
    drops = found.series("tin/bottleneck/C", "dropped_packets")[1]
    assert drops[-1] == classes(found)["C"]["dropped_packets"] > 0
