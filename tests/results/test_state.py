"""State variables as series: what algorithms tell is what the catalogue declares, and telling changes no run."""

import math

import numpy as np
import pytest

from dumbbell import catalogue
from dumbbell.results.schema import schema
from dumbbell.running.prepare import compute, refuse
from dumbbell.scenario import Scenario, ScenarioError

ECN = {"dctcp", "bbr3", "cubic-sce", "dctcp-sce", "reno-sce"}
RARE = {
    "lost": "the path loses little",
    "drop_next_ms": "only while packets are dropped",
    "departure_bps": "dq_rate_estimator",
    "ecn_alpha": "ecn_low",
    "bw_lo_bps": "a loss outside of probing",
    "inflight_lo": "a loss outside of probing",
    "dupacks": "FreeBSD's TCP",
    "bytes_acked": "FreeBSD's TCP",
}
"""Variables without a value in most runs, and why."""


def scenario(cc="cubic", qdisc=None, series=("control", "queue"), **more):
    """A run of ten seconds with losses."""
    path = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": qdisc or {"kind": "pfifo", "limit": "0.5bdp"}}}
    flow = {"cc": cc, "ecn": True} if isinstance(cc, str) and cc in ECN else {"cc": cc}
    if cc == "prague":
        flow = {"cc": cc, "stack": "linux-7.3", "ecn": "accecn"}
    settings = {"name": "s", "path": path, "flows": [flow], "duration": "20s", "series": list(series), **more}
    (found,) = Scenario(**settings).expand()
    return found


def told(run, entity):
    """Name -> values of each state variable of an entity."""
    usual = {name for name, each in schema().series[entity.partition("/")[0]].items() if each.source != "state"}
    return {
        name: values
        for block in run.samples
        if block.entity == entity
        for name, values in zip(block.names, block.values, strict=True)
        if name not in usual
    }


@pytest.mark.parametrize("cc", sorted(catalogue.states("cc")))
def test_a_control_tells_what_the_catalogue_declares(cc):
    run = compute(scenario(cc, series=["control"]))
    declared = {each.name: each for each in (*catalogue.states("sender")["sender"], *catalogue.states("cc")[cc])}
    found = told(run, f"flow/{cc}")
    assert found.keys() <= declared.keys()
    assert declared.keys() - found.keys() <= RARE.keys()
    for name, values in found.items():
        known = values[np.isfinite(values)]
        assert not np.isinf(values).any()
        if declared[name].words:
            assert set(known) <= set(map(float, range(len(declared[name].words)))), name
        if declared[name].unit == "share":
            assert (known >= 0).all(), name
            assert (known <= 1).all(), name


QUEUES = {
    "codel": {"kind": "codel"},
    "fq_codel": {"kind": "fq_codel"},
    "pie": {"kind": "pie"},
    "fq_pie": {"kind": "fq_pie"},
    "red": {"kind": "red", "limit": "400kB", "min": "30kB", "max": "90kB", "avpkt": "1000B", "burst": "55p", "probability": 0.02},
    "cake": {"kind": "cake"},
    "dualpi2": {"kind": "dualpi2"},
}


@pytest.mark.parametrize("kind", sorted(catalogue.states("qdisc")))
def test_a_discipline_tells_what_the_catalogue_declares(kind):
    run = compute(scenario(qdisc=QUEUES[kind], series=["queue"]))
    declared = {each.name for each in catalogue.states("qdisc")[kind]}
    found = told(run, "port/bottleneck")
    assert found.keys() <= declared
    assert declared - found.keys() <= RARE.keys()


def test_variables_of_one_name_have_one_unit():
    units = {}
    for group in ("sender", "cc", "qdisc"):
        for owner, listed in catalogue.states(group).items():
            assert len({each.name for each in listed}) == len(listed), owner
            for each in listed:
                assert each.meaning
                assert units.setdefault(each.name, each.unit) == each.unit, each.name
    usual = {name for kind in ("flow", "port") for name, each in schema().series[kind].items() if each.source != "state"}
    assert not usual & units.keys()


def test_telling_changes_no_run():
    plain, more = compute(scenario(series=[])), compute(scenario())
    usual = [block for block in more.samples if any(name in ("cwnd", "backlog_bytes") for name in block.names)]
    from dumbbell.results.series import digest

    assert digest(usual) == plain.digest != more.digest
    assert plain.flows.rows() == more.flows.rows()


def test_names_choose_variables():
    run = compute(scenario(series=["w_max", "probability"], qdisc={"kind": "pie"}))
    assert set(told(run, "flow/cubic")) == {"w_max"}
    assert set(told(run, "port/bottleneck")) == {"probability"}


def test_cubic_remembers_the_window_of_the_last_loss():
    run = compute(scenario(series=["control"], sample="10ms"))
    found = told(run, "flow/cubic")
    (_, threshold), w_max = run.series("flow/cubic", "ssthresh"), found["w_max"]
    last = float(w_max[-1])
    # Fast convergence remembers (1 + 717/1024)/2 of a window that is below the last; the threshold is 717/1024 of the window.
    window = threshold[-1] * 1024 / 717
    assert last == pytest.approx(window, rel=0.01) or last == pytest.approx(window * (1 + 717 / 1024) / 2, rel=0.01)
    assert np.nanmax(found["k_s"]) == pytest.approx((last * 0.3 / 0.4) ** (1 / 3), rel=0.5)


def test_bbr_says_its_mode_and_gains():
    run = compute(scenario("bbr", series=["control"], qdisc={"kind": "pfifo", "limit": "4bdp"}, sample="10ms"))
    found = told(run, "flow/bbr")
    assert set(found["mode"][np.isfinite(found["mode"])]) == {0.0, 1.0, 2.0, 3.0}
    probing = found["mode"] == 2
    assert set(np.round(found["pacing_gain"][probing], 2)) == {0.75, 1.0, 1.25}
    assert found["max_bw_bps"][-1] == pytest.approx(20e6 * 1448 / 1514, rel=0.03)
    assert np.nanmin(found["model_min_rtt_ms"]) == pytest.approx(40.6, abs=1)


def test_the_tins_of_cake_are_series():
    run = compute(scenario(qdisc={"kind": "cake", "diffserv": "diffserv3"}, series=["queue"]))
    entity = next(block.entity for block in run.samples if block.entity.startswith("tin/bottleneck/"))
    _, arrived = run.series(entity, "arrived_packets")
    assert (np.diff(arrived) >= 0).all()


def test_what_does_not_exist_is_an_error():
    with pytest.raises(ScenarioError, match=r"there is no state variable 'wmax' \(did you mean 'w_max'\?\)"):
        scenario(series=["wmax"])
    with pytest.raises(ScenarioError, match="'ack' is no kind of events; expected all, none or a list of acks, losses, marks, state"):
        scenario(events=["ack"])
    with pytest.raises(ScenarioError, match="no samples are taken; expected sample above 0s"):
        scenario(sample="0s")


def test_the_kernel_takes_state_and_no_record_of_events():
    refuse([scenario().on("kernel")])
    with pytest.raises(ScenarioError, match="the engine kernel has no records of events; expected engine: sim"):
        refuse([scenario(events="all").on("kernel")])


def test_tcp_of_freebsd_tells_its_sender():
    run = compute(scenario("reno", series=["control"], flows=[{"cc": "reno", "stack": "freebsd-9"}], sample="10ms"))
    found = told(run, "flow/reno")
    assert found.keys() == {"rto_ms", "rttvar_ms", "sacked", "retrans_out", "dupacks", "bytes_acked"}
    assert (found["rto_ms"] >= 200).all()
    assert found["sacked"].max() > 10
    assert found["dupacks"].max() >= 3
    _, cwnd = run.series("flow/reno", "cwnd")
    assert 0 < found["bytes_acked"].max() <= cwnd.max() * 1448


def test_the_modules_of_freebsd_tell_what_they_know():
    flows = [{"cc": cc, "stack": "freebsd-9", "name": cc} for cc in ("cubic", "cdg")]
    run = compute(scenario("reno", series=["control"], flows=flows, sample="10ms", duration="20s"))
    cubic, cdg = (told(run, f"flow/{cc}") for cc in ("cubic", "cdg"))
    assert cubic["w_max"].max() > 10
    assert cubic["k_s"].max() > 1
    assert set(cdg["queue_state"]) <= {0, 1, 2}
    assert cdg["gradient_min_us"].max() > 0 > cdg["gradient_min_us"].min()


def test_a_control_in_python_emits_its_own():
    import dumbbell

    @dumbbell.control
    def steps(facts):
        facts.emit("target", 10 + facts.time_s)
        return 20

    run = compute(scenario(steps, series=["control"], duration="2s"))
    (name,) = run.flows.names
    t_s, target = run.series(f"flow/{name}", "target")
    assert len(target) > 5
    assert (np.abs(target - 10 - t_s) < 0.2).all()
    assert not math.isnan(target[0])


def test_an_emitted_name_is_short_ascii():
    from dumbbell.scenario.function import Round

    with pytest.raises(ValueError, match="is no name"):
        Round(0, 1, 1, 0, 0, None, 0, 0, 0, 0, 0, "open").emit("a b", 1)
