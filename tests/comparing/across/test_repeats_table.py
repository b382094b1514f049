"""Tables over seeds."""

import pytest
from across import outline, sweep

from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.tables import repeats_table
from dumbbell.errors import BadInput


def test_there_is_a_row_for_each_cell_group_and_direction():
    table = repeats_table([sweep()], "t")
    assert list(table.columns) == ["path.rtt", "flows.0.cc", "group", "direction", "runs", "goodput_mbit", "srtt_mean_ms", "retransmits"]
    assert len(table.fields) == 12
    # 5.1 + 0.05 for each run: mean 5.225, t(0.975, 3) * 0.0645 / 2 = 0.1027.
    assert list(table.fields[0]) == ["20ms", "reno", "a", "forward", "4", "5.22±0.10", "52.2±1.0", "2"]


def test_a_group_has_the_goodput_of_its_flows_together_and_their_mean_rtt():
    flows = [("c-1", "c", "cubic", "forward", 4.0), ("c-2", "c", "cubic", "forward", 2.0), ("r", "r", "reno", "reverse", 1.0)]
    table = repeats_table([RunSet("a", [outline({"seed": 1}, flows)])], "t", apart=True)
    first, second = table.records()
    assert (first["group"], first["goodput_mbit"], first["srtt_mean_ms"], first["retransmits"]) == ("c", 6.0, 30.0, 4.0)
    assert (second["direction"], second["goodput_mbit_low"]) == ("reverse", None)


def test_limits_have_columns_of_their_own_for_programs():
    table = repeats_table([sweep()], "t", per="run", y=("goodput",), where=("cc=reno",), over=("rtt",), apart=True)
    assert list(table.columns) == ["flows.0.cc", "runs", "goodput_mbit", "goodput_mbit_low", "goodput_mbit_high"]
    (row,) = table.records()
    assert row["runs"] == 12
    assert row["goodput_mbit_low"] < row["goodput_mbit"] < row["goodput_mbit_high"]


def test_a_median_stands_beside_its_limits():
    table = repeats_table([sweep(repeats=6)], "t", per="run", statistic="median", y=("goodput",), where=("cc=reno", "rtt=20ms"))
    assert table.fields[0][-1] == "10.55 [10.30, 10.80]"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"y": ("srtt",)}, "--y 'srtt' is no column; expected srtt_mean_ms or srtt_p95_ms"),
        ({"statistic": "best"}, "--statistic 'best' is unknown"),
        ({"over": ("rrt",)}, r"--over 'rrt' is unknown \(did you mean 'rtt'\?\)"),
        ({"where": ("cc=bbr",)}, "--where 'cc=bbr': "),
    ],
)
def test_wrong_names_are_refused(options, line):
    with pytest.raises(BadInput, match=line):
        repeats_table([sweep()], "t", per="run", **options)
