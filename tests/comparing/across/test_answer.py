"""The summary of a sweep: its rows, its numbers, and the sentence below."""

import math

import pytest

from dumbbell.api import run
from dumbbell.comparing.across.answer import answer_of, written
from dumbbell.comparing.across.estimates import Estimate
from dumbbell.scenario import Scenario

HOME = {
    "name": "home",
    "path": {
        "rtt": "30ms",
        "bottleneck": {"rate": "50mbit", "qdisc": "fq_codel"},
        "reverse": {"rate": "10mbit", "qdisc": "fq_codel"},
    },
    "flows": [
        {"name": "download", "cc": "cubic", "start": {"jitter": "100ms"}},
        {"name": "upload", "cc": "cubic", "direction": "reverse", "start": {"jitter": "100ms"}},
    ],
    "background": [{"kind": "ping", "interval": "100ms"}, {"kind": "voip", "name": "call", "direction": "both"}],
    "duration": "6s",
    "sweep": {
        "zip": {
            "path.bottleneck.qdisc": [{"kind": "pfifo", "limit": "1000p"}, "fq_codel", "cake"],
            "path.reverse.qdisc": [{"kind": "pfifo", "limit": "1000p"}, "fq_codel", "cake"],
        }
    },
    "repeat": 3,
}


@pytest.fixture(scope="module")
def home():
    """The runs of an operator's question."""
    return run(Scenario.model_validate(HOME))


def test_an_operator_gets_a_row_for_each_queue_by_direction_and_a_sentence(home):
    found = answer_of("home", home)
    table = found.table()
    assert table.title == "home: mean of 3 runs ± 95 % interval"
    assert table.columns[:5] == ["bottleneck.qdisc", "download goodput (Mbit/s)", "upload goodput (Mbit/s)", "ping (ms)", "ping p95 (ms)"]
    assert {"MOS", "download utilisation (%)", "upload queue delay (ms)", "upload one-way p95 (ms)"} <= set(table.columns)
    assert [row[0] for row in table.fields] == ["pfifo limit=1000p", "fq_codel", "cake"]  # the zipped keys are one column
    by_name = dict(zip(table.columns, table.fields[1], strict=True))
    assert float(by_name["ping (ms)"].partition("±")[0]) == pytest.approx(31, abs=1.5)
    assert found.sentence.startswith("fq_codel and cake keep the ")
    assert "; pfifo has " in found.sentence


def test_the_table_fits_80_columns(home):
    lines = answer_of("home", home).table().fitted(80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].split() == ["bottleneck.qdisc", "pfifo", "limit=1000p", "fq_codel", "cake"]
    assert len([line for line in lines if line.startswith("ping")]) == 2


def test_utilisation_and_queue_delay_are_those_of_the_queue(home):
    pfifo = home[0].summary.ports
    assert set(pfifo) == {"bottleneck", "bottleneck-reverse"}
    assert 0.9 < pfifo["bottleneck-reverse"]["utilisation"] <= 1.001
    times, delays = home[0].series("port/bottleneck-reverse", "sojourn_ms")
    begin_s = min(row["start_ns"] for row in home[0].flows.rows() if row["transport"] == "tcp") / 1e9
    assert pfifo["bottleneck-reverse"]["queue_delay_mean_ms"] == pytest.approx(delays[times >= begin_s].mean())


def test_single_runs_have_a_sentence_that_says_so(home):
    single = [each for each in home if each.cell["seed"] == 1]
    found = answer_of("home", single)
    assert found.sentence.endswith(", in one run each.")
    assert "±" not in "".join(field for row in found.table().fields for field in row)


def test_equal_runs_have_a_sentence_that_says_so(home):
    single = [each for each in home if each.cell["seed"] == 1]
    assert answer_of("home", single * 3).sentence.endswith(", in each of 3 equal runs.")


def test_groups_that_share_a_direction_are_told_apart_and_ack_directions_left_out():
    both = run(
        Scenario.model_validate(
            {
                "name": "share",
                "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}},
                "flows": [{"cc": "cubic"}, {"cc": "bbr"}],
                "duration": "3s",
            }
        )
    )
    columns = answer_of("share", both).table().columns
    assert {"goodput (Mbit/s)", "goodput of cubic (Mbit/s)", "goodput of bbr (Mbit/s)", "Jain index", "utilisation (%)"} <= set(columns)
    assert not [column for column in columns if "reverse" in column]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ((30.67, 30.66, 30.68, 3), "30.67±0.01"),
        ((30.67, 30.57, 30.77, 3), "30.7±0.1"),
        ((1424.0, 1147.0, 1701.0, 3), "1424±277"),
        ((30.67, math.nan, math.nan, 1), "30.7"),
        ((2.0, math.nan, math.nan, 1), "2"),
        ((0.0, math.nan, math.nan, 3), "0"),
        ((4.36, 4.36 - 1e-6, 4.36 + 1e-6, 3), "4.36"),
    ],
)
def test_numbers_have_three_digits_and_no_interval_of_zero(number, text):
    assert written(Estimate(*number)) == text
