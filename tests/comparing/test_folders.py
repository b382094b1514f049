"""Two folders compared cell by cell: the tests are those of scipy, and the correction is Holm's."""

import math

import numpy as np
import pytest
from scipy import stats

import dumbbell as api
from dumbbell.comparing.folders import Compared, _corrected
from dumbbell.drawing.forest import forest
from dumbbell.errors import BadInput
from dumbbell.metrics.statistics import paired, welch
from dumbbell.results import Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario


def test_the_tests_are_those_of_scipy():
    draw = np.random.default_rng(3)
    for _ in range(20):
        x, y = draw.normal(5, 1, draw.integers(2, 12)), draw.normal(5.5, 3, draw.integers(2, 12))
        theirs = stats.ttest_ind(y, x, equal_var=False)
        low, high, p = welch(x, y)
        assert p == pytest.approx(theirs.pvalue)
        assert (low, high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
        a, b = draw.normal(5, 1, 6), draw.normal(5.2, 1, 6)
        theirs = stats.ttest_rel(b, a)
        low, high, p = paired(b - a)
        assert p == pytest.approx(theirs.pvalue)
        assert (low, high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))


def test_the_correction_is_holms():
    def of(p):
        return Compared((), "m", 1, 2, 0, 0, p, "welch", (5, 5))

    marked = _corrected([of(0.01), of(0.04), of(0.03), of(0.005), of(0.9)])
    # 0.005 <= 0.05/5, 0.01 <= 0.05/4, 0.03 > 0.05/3: none after that.
    assert [each.stands for each in marked] == [True, False, False, True, False]


def scenario(queue, repeat=4, **more):
    """Two cells of a short run."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": queue}}
    flows = [{"cc": "cubic", "name": "flow", "start": {"jitter": "1s"}}]
    return Scenario(name="s", path=path, flows=flows, duration="5s", sweep={"path.rtt": ["20ms", "80ms"]}, repeat=repeat, **more)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A deep queue, and a managed one."""
    root = tmp_path_factory.mktemp("folders")
    for name, queue in (("deep", {"kind": "pfifo", "limit": "4bdp"}), ("managed", {"kind": "codel"})):
        execute(prepare(scenario(queue).runs()), Store(root / name))
    return root


def test_folders_are_compared_by_seed(folders):
    found = api.compare(folders / "deep", folders / "managed")
    assert found.per == "group"
    assert {each.test for each in found.compared if each.test} == {"paired"}
    assert len({each.place for each in found.compared}) == 2
    srtt = [each for each in found.compared if each.metric == "srtt_mean_ms"]
    assert all(each.stands and each.second < each.first and each.high < 0 for each in srtt)
    assert found.differing[0].stands
    assert "differ beyond chance (paired, 5 %, Holm's correction)" in found.sentence
    text = found.table().text(200)
    assert "4 pairs" in text
    assert "managed minus deep" in text


def test_the_same_results_do_not_differ(folders):
    found = api.compare(folders / "deep", dumbbell_load(folders / "deep"))
    assert all(each.difference == 0 and each.test is None for each in found.compared)
    assert found.sentence.endswith("all equal")
    with pytest.raises(BadInput, match="differ in no number"):
        forest(found)


def dumbbell_load(path):
    """Results in memory."""
    return api.load(path)


def test_other_seeds_are_compared_by_welch(folders, tmp_path):
    execute(prepare(scenario({"kind": "codel"}, repeat=3, seed=100).runs()), Store(tmp_path / "other"))
    found = api.compare(folders / "managed", tmp_path / "other", y="srtt_mean")
    assert [each.test for each in found.compared] == ["welch", "welch"]
    assert [each.counts for each in found.compared] == [(4, 3), (4, 3)]
    assert not any(each.stands for each in found.compared)


def test_groups_of_other_names_are_compared_as_runs(folders, tmp_path):
    settings = scenario({"kind": "codel"}).dump() | {"flows": [{"cc": "bbr", "start": {"jitter": "1s"}}]}
    execute(prepare(Scenario(**settings).runs()), Store(tmp_path / "bbr"))
    found = api.compare(folders / "managed", tmp_path / "bbr")
    assert found.per == "run"
    assert len({each.place for each in found.compared}) == 2


def test_a_window_is_compared(folders):
    whole, late = (api.compare(folders / "deep", folders / "managed", y="goodput", from_=begin) for begin in (None, "2s"))
    assert [each.first for each in whole.compared] != [each.first for each in late.compared]
    assert not math.isnan(late.compared[0].first)


def test_the_command(folders, dumbbell, tmp_path):
    answer = dumbbell("compare", folders / "deep", folders / "managed", "--y", "srtt_mean", "--out", tmp_path / "figures", "--from", "1s")
    assert answer.status == 0
    assert ", from 1 s" in answer.out
    assert "managed-minus-deep" in answer.err
    assert (tmp_path / "figures" / "managed-minus-deep.svg").is_file()
    for wrong in (
        (folders / "deep", folders / "deep"),
        (folders / "deep", folders / "managed", "--per", "port"),
        (folders / "deep", folders / "managed", "--y", "speed"),
        (folders / "deep", folders / "managed", "--check"),
        (folders / "deep", "sce", "--per", "run"),
    ):
        answer = dumbbell("compare", *wrong)
        assert answer.status == 2
        assert answer.err.count("\n") == 1


def test_scenarios_of_other_names_are_other_cells(tmp_path):
    def runs(rate):
        path = {"rtt": "20ms", "bottleneck": {"rate": rate, "qdisc": "codel"}}
        return Scenario(name=f"at-{rate}", path=path, flows=[{"cc": "cubic"}], duration="3s").runs()

    for folder in ("one", "other"):
        execute(prepare([*runs("5mbit"), *runs("10mbit")]), Store(tmp_path / folder))
    found = api.compare(tmp_path / "one", tmp_path / "other", y=["goodput"]).compared
    assert {dict(each.place)["name"] for each in found} == {"at-5mbit", "at-10mbit"}
    assert all(each.first == each.second for each in found)
