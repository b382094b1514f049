"""Runs become numbers: formats, tables, orders, correlations."""

from dataclasses import replace

import numpy as np
import pytest

from dumbbell.comparing.difference import difference
from dumbbell.study import find_part, formats
from dumbbell.study.claims import MissingRunError
from dumbbell_studies.ordering.conditions import ALONE, BASE, CONGESTED, PRINTED, distinct
from dumbbell_studies.ordering.controls import JUDGED, PROTOCOLS
from dumbbell_studies.ordering.correlation import correlations
from dumbbell_studies.ordering.experiments import EXPERIMENTS, experiment_table
from dumbbell_studies.ordering.formats import IP_FORMAT, UTILIZATION_FORMAT
from dumbbell_studies.ordering.orders import relations
from dumbbell_studies.ordering.tables import page_tables, summaries
from dumbbell_studies.ordering.trials import PAYLOAD, trial_of, trials


def test_a_run_is_reduced_over_the_page_s_window(make_run):
    found = trial_of(make_run(BASE, "BIC", 0.9, wobble=0.1))
    assert found.bits.shape == (590,)
    assert found.flow_bits.shape == (2, 590)
    assert found.utilization == pytest.approx(0.9)
    assert found.ip_utilization == pytest.approx(0.9 / PAYLOAD)
    for value in (found.cov_pta, found.cov_ptp, found.utilization_cov, found.queue_cov):
        assert value == pytest.approx(0.1)
    assert found.synchronisation == pytest.approx(2)
    assert found.load_width == pytest.approx(0.2 * 4e8 * 0.9 / PAYLOAD)


def test_flows_that_take_turns_are_steady_together(make_run):
    found = trial_of(make_run(BASE, "BIC", together=False))
    assert found.cov_pta == pytest.approx(0, abs=1e-9)
    assert found.cov_ptp == pytest.approx(0.1)
    assert np.isnan(found.loss_synchronisation)


def test_the_congested_link_has_a_window_of_its_own(make_run):
    condition = CONGESTED[10.0, "20ms"]
    assert trial_of(make_run(condition, "BIC")).bits.shape == (1065,)


def test_losses_of_both_flows_in_one_second_are_synchronised(make_run):
    both = trial_of(make_run(BASE, "BIC", again=lambda t, _number: t >= 100))
    assert both.loss_synchronisation == 1
    one = trial_of(make_run(BASE, "BIC", again=lambda t, number: (t >= 100) & (number == 0)))
    assert one.loss_synchronisation == 0.5


def test_runs_of_others_are_none_of_the_study(make_run):
    run = make_run(BASE, "BIC")
    assert trial_of(replace(run, cell={"cc": "reno", "seed": 1})) is None
    assert trial_of(replace(run, cell={**run.cell, "seed": "x"})) is None
    with pytest.raises(MissingRunError, match="no run of CUBIC, 320ms-1MiB-4-flows-type1"):
        trials([run]).of("CUBIC", BASE)


def test_published_utilisations_agree_with_themselves(published_runs):
    part = find_part("ordering")[1]
    found = difference(UTILIZATION_FORMAT.measure(published_runs), part.reference().values, UTILIZATION_FORMAT)
    cells = found.metrics["utilization"]
    assert (cells.expected, len(cells.cells)) == (17 * 8, 17 * 8)
    assert all(cell.error_in_tolerances < 1e-3 for cell in cells.cells)
    assert {cell.key["protocol"] for cell in cells.informative} == set(JUDGED)
    assert {round(cell.allowed, 3) for cell in cells.cells if cell.key["protocol"] == "HTCP"} == {0.05}
    assert [cell.fault for cell in cells.cells if cell.fault] == ["all others are 0.96 or less"]


def test_ip_packets_are_compared_beside(published_runs):
    part = find_part("ordering")[1]
    found = difference(IP_FORMAT.measure(published_runs), part.reference(IP_FORMAT).values, IP_FORMAT)
    assert all(cell.error == pytest.approx(cell.theirs * (1 / PAYLOAD - 1), abs=1e-4) for cell in found.cells)


def test_the_reference_file_is_known_by_its_header():
    known = formats()
    assert known["ncsu_utilization"][0].name == "ordering"
    from dumbbell.comparing.reference import read_reference

    path = find_part("ordering")[1].published["ncsu_utilization"]
    assert read_reference(path, [format_ for _, _, format_ in known.values()]).format is UTILIZATION_FORMAT


def test_runs_of_both_modes_are_not_mixed(make_run):
    both = [make_run(BASE, "BIC", 0.5, mode="modern"), make_run(BASE, "BIC", 0.8)]
    assert UTILIZATION_FORMAT.measure(both)[(4.0, "320ms", "BIC"), "utilization"] == pytest.approx([0.8])
    assert UTILIZATION_FORMAT.measure(both[:1])[(4.0, "320ms", "BIC"), "utilization"] == pytest.approx([0.5])


def test_rows_of_one_condition_share_its_runs(make_run):
    measured = UTILIZATION_FORMAT.measure([make_run(BASE, "STCP", 0.85, seed=seed) for seed in (1, 2)])
    assert {key[:2] for key, _ in measured} == {(4.0, "320ms"), (5.0, "320ms"), (6.0, "1M"), (7.0, "4 flows")}
    assert len(distinct(PRINTED)) == 14


def test_tables_have_ours_intervals_and_the_published(make_run):
    runs = [make_run(BASE, "BIC", used, seed=seed) for seed, used in enumerate((0.86, 0.88, 0.90), 1)]
    found = page_tables(runs)
    assert list(found) == [4, 5, 6, 7, 9]
    ours, half, published = (dict(zip(found[4].columns, row, strict=True)) for row in found[4].fields)
    assert (ours["BIC"], ours["CUBIC"], published["BIC"], published["CUBIC"]) == ("0.8800", "", "0.8847", "0.8715")
    # t(0.975, 2) = 4.303, s = 0.02.
    assert half["BIC"] == "0.0497"


def test_a_table_of_stability_and_one_of_the_background(make_run):
    runs = [make_run(BASE, "BIC"), make_run(ALONE[0], "none", 0.175, wobble=0.2)]
    found = summaries(runs)
    assert list(found) == ["stability", "background", "orders"] or list(found) == ["stability", "background"]
    (row,) = found["stability"].fields
    assert row[:6] == ["320ms-1MiB-4-flows-type1", "BIC", "1", "0.9000", "0.1000", "0.1000"]
    forward, reverse = found["background"].fields
    assert (forward[1], reverse[1]) == ("forward", "reverse")
    assert forward[3].startswith("72.5")
    assert forward[2] == reverse[2] == "1"
    assert not any("inf" in field for field in (*forward, *reverse))


def test_orders_of_the_load(make_run):
    found = trials(
        [make_run(BASE, "HTCP", 0.85, wobble=0.3), make_run(BASE, "BIC", 0.85, wobble=0.05), make_run(BASE, "SACK", 0.4, wobble=0.05)]
    )
    orders = relations(found)
    assert orders["BIC", "HTCP"]["dilation"] == "<"
    assert orders["BIC", "SACK"]["stochastic"] == ">"


def test_correlations_by_environment(make_run):
    rng = np.random.default_rng(1)
    runs = []
    for seed in range(1, 13):
        wobble = float(rng.uniform(0.05, 0.3))
        runs.append(make_run(BASE, "BIC", 0.95 - wobble, wobble=wobble, seed=seed))
    made = {(c.environment, c.outcome, c.predictor): c for c in correlations(trials(runs))}
    assert {environment for environment, _, _ in made} == {"moderate"}
    steady = made["moderate", "utilisation", "CoV-PTA"]
    assert steady.r == pytest.approx(-1)
    assert steady.runs == 12
    assert steady.within == pytest.approx(-1)


def test_experiments_stand_beside_the_page_s_runs(make_run):
    each = EXPERIMENTS[0]
    runs = [make_run(BASE, "FAST", 0.68), make_run(BASE, "FAST", 0.93, experiment=each.name)]
    (row,) = experiment_table(runs).fields
    assert row == [each.title, BASE.name, "0.6766", "0.6800", "0.9300"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_colours_are_those_of_the_controls(protocol):
    from dumbbell.drawing import style

    assert style.colour(PROTOCOLS[protocol].style) != style.colour("unknown")
