"""The record of events agrees with the counters of the run, changes nothing, and can be made later."""

from itertools import pairwise

import pytest

from dumbbell.cli.run.again import only_run
from dumbbell.comparing.story import story
from dumbbell.errors import BadInput, DamagedRun
from dumbbell.explorer.runs import Runs
from dumbbell.results import Store
from dumbbell.running.again import run_again
from dumbbell.running.execute import execute
from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import Scenario

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "codel", "limit": "60p", "ecn": True}}}


def scenario(**more):
    """Two flows that lose packets, one of them with marks."""
    flows = [{"cc": "cubic", "name": "cubic"}, {"cc": "bbr", "name": "bbr"}, {"cc": "dctcp", "name": "dctcp", "ecn": True}]
    (found,) = Scenario.model_validate({"name": "s", "path": PATH, "flows": flows, "duration": "10s"} | more).expand()
    return found


@pytest.fixture(scope="module")
def recorded():
    """A run with all events."""
    return compute(scenario(events="all"))


def test_counts_are_those_of_the_tables(recorded):
    events = recorded.events
    for row in recorded.flows.rows():
        own = {kind: events.filter((events["flow"] == row["flow"]) & (events["kind"] == kind)) for kind in set(events["kind"])}
        # The answer to the SYN is no ACK of data, but it comes to the sender as others do.
        assert len(own["ack"]) == row["acks_arrived"]
        assert own["retransmit"]["count"].sum() == row["retransmits"]
        assert own["ack"]["count"].sum() == row["delivered"]
        assert (own["mark"]["count"].sum() if "mark" in own else 0) == row["delivered_ce"]
        drops = own["drop"].filter(~own["drop"]["reason"].str.contains("an ACK"))
        assert len(drops) == row["dropped_packets"]
        assert len(own.get("timeout", ())) == row["rto_timeouts"]
        assert len(own.get("undo", ())) == row["undos"]
    assert events["t_ns"].is_sorted()


def test_changes_of_state_follow_each_other(recorded):
    states = recorded.events.filter((recorded.events["flow"] == "bbr") & recorded.events["reason"].str.starts_with("mode "))
    words = [reason.removeprefix("mode ").split(" -> ") for reason in states["reason"]]
    assert words[0] == ["none", "startup"]
    assert all(before[1] == after[0] for before, after in pairwise(words))
    assert {"drain", "probe_bw"} <= {word for pair in words for word in pair}


def test_words_are_those_of_the_congestion_control(recorded):
    """Bbr and bbr3 have variables called phase and mode with other words, and so has Prague."""
    phases = recorded.events.filter(recorded.events["reason"].str.contains("phase"))
    assert not phases["reason"].str.contains("cruise|refill").any()
    path = {"rtt": "5ms", "bottleneck": {"rate": "2mbit", "qdisc": "dualpi2"}}
    small = Scenario.model_validate({"name": "s", "path": path, "flows": [{"cc": "prague"}], "duration": "10s", "events": ["state"]})
    reasons = compute(small.expand()[0]).events["reason"]
    modes = set(reasons.filter(reasons.str.starts_with("mode ")))
    assert "mode window -> rate" in modes
    assert not [each for each in modes if "startup" in each]


def test_losses_in_an_outage_are_events():
    run = compute(scenario(events=["losses"], path={**PATH, "impairments": [{"kind": "outage", "at": "3s", "for": "500ms"}]}))
    assert run.events["reason"].str.contains("on the link").any()


def test_only_what_is_asked_for_is_recorded(recorded):
    run = compute(scenario(events=["losses"]))
    assert set(run.events["kind"]) <= {"loss", "retransmit", "timeout", "undo", "drop"}
    assert run.digest == recorded.digest == compute(scenario()).digest
    assert len(compute(scenario()).events) == 0


def test_events_are_read_from_the_store(tmp_path, recorded):
    (run,) = execute(prepare([scenario(events="all")]), Store(tmp_path / "r"))
    assert Store(tmp_path / "r").get(run.key).events.equals(recorded.events)
    assert Store(tmp_path / "r").verify(run.key)
    file = tmp_path / "r" / run.key / "events.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedRun):
        _ = Store(tmp_path / "r").get(run.key).events


def test_a_run_is_computed_again_with_more_to_see(tmp_path, recorded):
    store = Store(tmp_path / "r")
    (run,) = execute(prepare([scenario()]), store)
    before = {name: (tmp_path / "r" / run.key / name).read_bytes() for name in ("run.json", "series.parquet", "host.json")}
    more = run_again(store, run.key, ["control"], ["losses"])
    assert {name: (tmp_path / "r" / run.key / name).read_bytes() for name in before} == before
    assert more.digest == run.digest
    assert more.events.equals(recorded.events.filter(recorded.events["kind"].is_in(["loss", "retransmit", "timeout", "undo", "drop"])))
    assert "w_max" in more.sampled["flow"]
    assert len(more.series("flow/cubic", "w_max")[0]) > 50
    assert ("flow/cubic", "w_max") in more.all_series("w_max", "cwnd")
    assert store.verify(run.key)
    shown = {(entity, name): len(samples[0]) for entity, name, samples in Runs(tmp_path / "r", "r").series(run.key)}
    assert shown["flow/cubic", "w_max"] > 50
    # A fuller record takes the place of the one that the scenario asks for.
    (marked,) = execute(prepare([scenario(events=["marks"])]), store)
    assert set(run_again(store, marked.key, [], ["losses"]).events["kind"]) > {"mark"}
    # Earlier records stay when something else is asked for.
    again = run_again(store, run.key, [], ["acks"])
    assert "w_max" in again.sampled["flow"]
    assert {"ack", "loss"} <= set(again.events["kind"])


def test_what_was_recorded_later_is_checked_when_it_is_read(tmp_path):
    store = Store(tmp_path / "r")
    (run,) = execute(prepare([scenario()]), store)
    run_again(store, run.key, ["control"], ["losses"])
    for name in ("again-series.parquet", "again-events.parquet", "again.json"):
        file = tmp_path / "r" / run.key / name
        whole = file.read_bytes()
        file.write_bytes(whole[:20] + bytes([whole[20] ^ 1]) + whole[21:])
        with pytest.raises(DamagedRun):
            Store(tmp_path / "r").verify(run.key)
        file.write_bytes(whole)
    assert Store(tmp_path / "r").verify(run.key)


def test_a_stored_run_with_state_keeps_its_digest(tmp_path):
    store = Store(tmp_path / "r")
    (run,) = execute(prepare([scenario(series=["w_max"])]), store)
    more = run_again(store, run.key, ["control"], [])
    assert more.digest == run.digest
    assert more.more.series.names["flow"].count("w_max") == 0
    assert {"w_max", "k_s", "mode"} <= set(more.sampled["flow"])


def test_a_run_of_another_digest_is_not_kept(tmp_path, monkeypatch):
    store = Store(tmp_path / "r")
    (run,) = execute(prepare([scenario()]), store)
    monkeypatch.setattr("dumbbell.running.again.digest", lambda _: "0" * 64)
    with pytest.raises(BadInput, match=r"recomputed, it has the digest 000000000000, not .* expected a run of this version"):
        run_again(store, run.key, ["control"], [])
    assert not (tmp_path / "r" / run.key / "again.json").exists()


def test_a_story_is_in_order_and_puts_acks_together(recorded):
    told = story(recorded.events, 2.0, 4.0, ["cubic"])
    assert [each.t_ns for each in told] == sorted(each.t_ns for each in told)
    assert all(2e9 <= each.t_ns <= 4e9 and each.flow == "cubic" for each in told)
    each_ack = story(recorded.events, 2.0, 4.0, ["cubic"], each=True)
    assert sum(each.kind == "ack" for each in each_ack) > sum(each.kind == "ack" for each in told)
    assert [each.text for each in told if each.kind == "state"] == [each.text for each in each_ack if each.kind == "state"]
    assert sum(each.kind == "drop" for each in each_ack) >= sum(each.kind == "drop" for each in told) > 0


def test_the_commands(tmp_path, dumbbell):
    store = Store(tmp_path / "r")
    (run,) = execute(prepare([scenario()]), store)
    assert only_run(store, None).key == run.key
    assert f"--again {run.key[:10]} --events all` makes one" in dumbbell("explain", tmp_path / "r", "--at", "3s").err
    made = dumbbell("run", tmp_path / "r", "--again", run.key[:6], "--series", "control,queue", "--events", "all")
    assert "with the same digest" in made.err
    assert "ACKs in" in dumbbell("explain", tmp_path / "r", "--at", "3s", "--flow", "cubic").out
    start = dumbbell("explain", tmp_path / "r", "--at", "0s", "--around", "1s")
    assert start.status == 0
    assert "0." in start.out
    for wrong in (
        ("explain", tmp_path / "r", "--at", "3s", "--flow", "cubi"),
        ("explain", tmp_path / "r", "--at", "soon"),
        ("run", tmp_path / "r", "--again", "zz"),
        ("run", tmp_path / "r", "--events", "all"),
    ):
        answer = dumbbell(*wrong)
        assert answer.status == 2
        assert answer.err.count("\n") == 1
