"""Changes of a kernel, compared with another one: the test, the adjustment, the targets, and the command's exit status."""

import math
from dataclasses import replace

import pytest
from scipy import stats
from support import make_run

from dumbbell.agreement import regression
from dumbbell.agreement.comparison import Comparison
from dumbbell.agreement.regression import BARS, LEVEL, workloads
from dumbbell.errors import EnvironmentFault
from dumbbell.metrics.statistics import holm, welch


def test_welch_gives_the_p_values_of_scipy_and_holm_adjusts_them():
    one = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    other = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 25.6]
    assert welch(one, other[:9])[2] == pytest.approx(stats.ttest_ind(one, other[:9], equal_var=False).pvalue)
    assert welch([1.0, 1.0], [1.0, 1.0]) == (0.0, 0.0, 1.0)
    assert welch([1.0, 1.0], [2.0, 2.0]) == (1.0, 1.0, 0.0)
    assert holm([0.04, 0.01, 0.03, 0.6]) == pytest.approx([0.09, 0.04, 0.09, 0.6])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def compared(monkeypatch, values):
    """A comparison of three starts of two workloads, whose measures are given: (baseline, kernel) by workload."""
    chosen = workloads(3)
    chosen = replace(chosen, scenarios=chosen.scenarios[: len(values)])
    sides, known = ([], []), {}
    for scenario, pair in zip(chosen.scenarios, values, strict=True):
        for side, listed in enumerate(pair):
            for start, each in enumerate(listed):
                run = make_run(
                    key=f"{len(known):032d}", name=scenario.name, samples=3 + start + (100 if side and pair[0] != pair[1] else 0)
                )
                known[run.key] = each
                sides[side].append(run)
    monkeypatch.setattr(regression, "_measures", lambda run: known[run.key])
    return Comparison(chosen, ("kernel", "kernel:mine"), *map(tuple, sides), "2026-01-01")


def test_what_differs_beyond_bar_and_chance_has_moved(monkeypatch, tmp_path):
    steady = [{"goodput": 10.0 + i / 1000} for i in range(3)]
    moved, little, chance = (
        [{"goodput": each} for each in values] for values in ((9.0, 9.001, 9.002), (10.01, 10.011, 10.012), (2.0, 18.0, 9.0))
    )
    compared_ = compared(monkeypatch, [(steady, steady), (steady, moved), (steady, little), (steady, chance)])
    found = regression.regression(compared_)
    names = [scenario.name for scenario in compared_.scenario_set.scenarios]
    assert (list(found.same), [each.workload for each in found.moved], list(found.noise)) == (names[:1], names[1:2], names[2:])
    assert found.moved[0].change == pytest.approx(-0.1, abs=1e-3)
    assert found.moved[0].p < LEVEL
    assert not found.alike
    assert regression.sentence(found).startswith(f"moved: {names[1]} (of 4 workloads; 1 have the same series")
    document = regression.write(tmp_path, compared_, found)
    assert document["moved"][0]["measure"] == "goodput"
    assert f"| {names[1]} | goodput (Mbit/s) | 10 | 9.001 | -10.0 % |" in (tmp_path / "regress.md").read_text()


def test_equal_series_are_alike(monkeypatch):
    steady = [{"goodput": 10.0 + i} for i in range(3)]
    found = regression.regression(compared(monkeypatch, [(steady, steady)] * 2))
    assert found.alike
    assert len(found.same) == 2


def test_p_values_are_adjusted_for_all_measures(monkeypatch):
    one, other = ([{"goodput": each} for each in values] for values in ((10.0, 10.05, 9.95), (10.4, 10.45, 10.5)))
    alone = regression.regression(compared(monkeypatch, [(one, other)])).moved
    many = regression.regression(compared(monkeypatch, [(one, other)] * 9)).moved
    assert alone[0].p * 9 == pytest.approx(many[0].p) if many else alone[0].p * 9 > LEVEL


def test_workloads_have_starts_and_bars_have_definitions():
    for scenario in workloads(4).scenarios:
        assert len(list(scenario.runs())) == 4
    assert all(math.isfinite(bar.least) and bar.least > 0 for bar in BARS.values())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "expected --tree DIR, --patch FILE or --config KEY=VALUE, or --kernel NAME for one that is built"),
        (["--kernel", "6.12"], "--kernel 6.12: is the baseline; expected another kernel"),
        (["--kernel", "none"], "kernel 'none' is unknown"),
    ],
)
def test_what_cannot_be_compared(dumbbell, monkeypatch, tmp_path, options, line):
    from dumbbell.engines.kernel.engine import Kernel

    monkeypatch.setattr(Kernel, "require", lambda _self, _plan=None: None)
    answer = dumbbell("regress", "tcp", "--baseline", "6.12", *options, "--out", tmp_path / "out")
    assert (answer.status, answer.out) == (2, "")
    assert line in answer.err


def test_a_kernel_that_is_not_built_or_does_not_boot_is_skipped(dumbbell, monkeypatch, tmp_path):
    from dumbbell.engines.kernel import build
    from dumbbell.engines.kernel.engine import Kernel

    patch = tmp_path / "own.patch"
    patch.write_text("")

    def broken(*_arguments):
        raise EnvironmentFault("own.patch does not apply to Linux 7.3.4: net/ipv4/tcp.c:5: hunk 1 does not fit")

    monkeypatch.setattr(Kernel, "require", lambda _self, _plan=None: None)
    monkeypatch.setattr(build, "build", broken)
    answer = dumbbell("regress", "tcp", "--baseline", "6.12", "--patch", patch, "--out", tmp_path / "out")
    assert answer.status == 125
    assert "net/ipv4/tcp.c:5: hunk 1 does not fit" in answer.err


def test_what_fails_otherwise_gives_no_verdict(dumbbell, monkeypatch, tmp_path):
    """A status of 1 to 127, except 125, would tell `git bisect run` that the commit is bad."""
    from dumbbell.cli.compare import regress
    from dumbbell.engines.kernel.engine import Kernel

    def failing(*_arguments):
        raise OSError("No space left on device")

    def missing(_self, _plan=None):
        raise EnvironmentFault("the kernel is not built")

    options = ("regress", "tcp", "--baseline", "6.12", "--kernel", "7.3", "--out", tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr(Kernel, "require", missing)
        assert (dumbbell(*options).status, dumbbell(*options).err) == (128, "no verdict: the kernel is not built\n")
    monkeypatch.setattr(Kernel, "require", lambda _self, _plan=None: None)
    monkeypatch.setattr(regress, "_set", failing)
    assert (dumbbell(*options).status, dumbbell(*options).err) == (128, "no verdict: No space left on device\n")


def test_results_lie_outside_the_tree(dumbbell, tmp_path):
    answer = dumbbell("regress", "tcp", "--baseline", "6.12", "--tree", tmp_path, "--out", tmp_path / "out")
    assert (answer.status, answer.err.partition(": ")[2]) == (
        2,
        "lies in the tree, whose files are part of the kernel; expected another folder\n",
    )


def test_agree_of_two_kernels_says_what_changed_for_which_scenario(monkeypatch):
    baseline = [{"goodput": 9.0 + 0.01 * i} for i in range(3)]
    kernel = [{"goodput": 8.0 + 0.01 * i} for i in range(3)]
    found = regression.regression(compared(monkeypatch, [(baseline, kernel), (baseline, baseline)]))
    text = regression.section(found)
    assert "moved: cubic-loss (of 2 workloads; 1 have the same series, 0 differ by chance or little)" in text
    assert "| cubic-loss | goodput (Mbit/s) | 9.01 | 8.01 | -11.1 % |" in text
    assert regression.plain(found)["moved"][0]["workload"] == "cubic-loss"
    assert "moved" not in regression.section(regression.NONE).replace("no workload of 0 moved", "")
