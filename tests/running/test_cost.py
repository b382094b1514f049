"""Costs of runs, estimated before they start."""

import math

import pytest

from dumbbell import Scenario, Store, run
from dumbbell.engines import engine
from dumbbell.results.storage.packing import pack
from dumbbell.running.cost import estimate
from dumbbell.running.prepare import prepare

PATH = {"rtt": "40ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}
BLOCK = 4096


def scenario(**more):
    return Scenario.model_validate({"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "10s", **more})


def taken(folder):
    """Bytes of a folder on a disk with blocks of 4 KiB."""
    return sum(BLOCK if each.is_dir() else BLOCK * math.ceil(each.stat().st_size / BLOCK) for each in folder.rglob("*"))


@pytest.mark.parametrize(
    "more",
    [
        {"sweep": {"path.rtt": ["10ms", "20ms", "40ms", "80ms"]}, "flows": [{"cc": "cubic"}, {"cc": "bbr"}]},
        {"flows": [{"cc": "cubic", "count": 16}], "sweep": {"path.rtt": ["10ms", "80ms"]}},
        {"sample": "0s", "sweep": {"path.rtt": ["10ms", "20ms", "40ms"]}},
        {"duration": "60s", "sample": "50ms", "path": {**PATH, "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}}},
        {"duration": "60s", "background": [{"kind": "voip"}, {"kind": "ping"}]},
    ],
)
def test_the_disk_is_known_within_a_factor(more, tmp_path):
    wanted = scenario(**more)
    found = estimate(prepare(wanted.runs()))
    run(wanted, tmp_path / "out", workers=1)
    assert 1 / 1.5 < found.disk_bytes / taken(tmp_path / "out") < 1.5


@pytest.mark.parametrize("flows", [1, 8])
def test_the_disk_of_packs_is_known_within_a_factor(flows, tmp_path):
    wanted = scenario(flows=[{"cc": "cubic", "count": flows, "start": {"jitter": "100ms"}}], repeat=60)
    run(wanted, tmp_path / "out", workers=1)
    pack(Store(tmp_path / "out"))
    found = estimate(prepare(wanted.runs()), packed=True)
    assert 1 / 1.5 < found.disk_bytes / taken(tmp_path / "out") < 1.5


def test_a_run_may_stand_for_others():
    wanted = scenario(sweep={"path.bottleneck.rate": ["10mbit", "1mbit"]})
    fast, slow = prepare(wanted.runs())
    several = estimate([fast, fast, fast, slow], workers=1)
    counted = estimate([fast, slow], workers=1, counts=[3, 1])
    assert counted.packets == several.packets
    assert counted.cpu_s == pytest.approx(several.cpu_s)
    assert counted.wall_s == pytest.approx(several.wall_s)
    assert estimate([fast, slow], workers=1, counts=[0, 0]).wall_s == 0


def test_more_workers_take_less_time_down_to_the_longest_run_and_what_one_thread_does():
    (long,) = prepare(scenario(path={**PATH, "bottleneck": {"rate": "1gbit", "qdisc": "fq_codel"}}, duration="60s").runs())
    one, two, many = (estimate([long] * 4, workers=workers) for workers in (1, 2, 1000))
    assert one.wall_s == pytest.approx(2 * two.wall_s)
    assert many.wall_s >= long.cpu_s * engine(long.engine).slowness(4 * long.cpu_s)
    (short,) = prepare(scenario(duration="1s", sample="0s").runs())
    assert estimate([short], workers=1000, counts=[1000]).wall_s >= 5


def test_flows_with_small_windows_cost_more():
    costs = [run.cpu_s for run in prepare(scenario(sweep={"flows.0.count": [1, 8, 100]}).runs())]
    assert costs[0] < costs[1] < costs[2] < 5 * costs[0]


def test_packs_of_a_cluster_take_less_of_one_thread():
    (short,) = prepare(scenario(duration="1s", sample="0s").runs())
    folders, packs = (estimate([short], workers=1000, counts=[10_000], packed=packed) for packed in (False, True))
    assert packs.wall_s < folders.wall_s / 5
    assert packs.disk_bytes < folders.disk_bytes / 5


FAST = {**PATH, "bottleneck": {"rate": "1gbit", "qdisc": "fq_codel"}}


def test_long_runs_of_a_cluster_are_no_packs():
    (long,) = prepare(scenario(path=FAST, duration="600s").runs())
    folders, packs = (estimate([long], counts=[10_000], packed=packed) for packed in (False, True))
    assert packs == folders


def test_runs_take_as_long_as_the_workers_that_can_run_their_engine():
    both = [prepare(scenario(engine=name, path=FAST, duration="60s").runs(), keyed=False)[0] for name in ("sim", "kernel")]
    sim, kernel = (estimate([run], 1, [1000]).wall_s / 1000 for run in both)  # much work, for which the machine's speed is measured
    everywhere, here = frozenset({"sim", "kernel"}), frozenset({"sim"})
    of_one = estimate([both[1]], counts=[8], able={everywhere: 2, here: 6})
    assert (of_one.wall_s, of_one.workers) == (pytest.approx(kernel * 4), 8)
    assert estimate(both, counts=[8, 8], able={everywhere: 2, here: 6}).wall_s == pytest.approx(max(kernel * 4, kernel + sim))
    assert estimate(both, counts=[80_000, 2], able={everywhere: 2, here: 6}).wall_s == pytest.approx((80_000 * sim + 2 * kernel) / 8)
    assert estimate(both, counts=[8, 8], able={everywhere: 8}).wall_s == estimate(both, 8, [8, 8]).wall_s
