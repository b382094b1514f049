import pytest

from dumbbell.comparing.format import Format, Metric, Tolerance
from dumbbell.comparing.reference import read_reference, why_missing, without_run
from dumbbell.errors import BadInput

HEADER = "table,cc,rate_mbit,metric,value\n"
WIDE = Format(
    name="wide",
    columns=("run", "flow"),
    keys=("run", "flow"),
    numbers=frozenset({"flow"}),
    metrics={"goodput": Metric("Mbit/s", "goodput", Tolerance(0.01)), "drops": Metric("", "drops", Tolerance(0.15))},
    measure=lambda _runs: {},
)


def test_a_long_file_has_one_value_per_row(format_, write):
    reference = read_reference(write(HEADER + "12,reno,50,throughput_mbit,47.1\n12,reno,50,rtt_ms,83\n"), [WIDE, format_])
    assert reference.format is format_
    assert reference.lookup() == {(("reno", 50.0), "throughput_mbit"): 47.1, (("reno", 50.0), "rtt_ms"): 83.0}


def test_columns_may_be_in_any_order_and_the_table_number_may_be_missing(format_, write):
    reference = read_reference(write("value,metric,rate_mbit,cc\n1,rtt_ms,2,reno\n"), [format_])
    assert reference.lookup() == {(("reno", 2.0), "rtt_ms"): 1.0}


def test_a_wide_file_has_one_row_per_cell_and_may_have_gaps(write):
    reference = read_reference(write("run,flow,cc,goodput,drops\na,0,reno,9.5,\n"), [WIDE])
    assert reference.lookup() == {(("a", 0.0), "goodput"): 9.5}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", ":1: column cc, rate_mbit, metric, value lacking; expected the header of small"),
        ("cc;rate_mbit;metric;value\nreno;50;rtt_ms;1\n", ":1: columns are separated by semicolons; expected commas"),
        ("cc\trate_mbit\tmetric\tvalue\n", ":1: columns are separated by tabs; expected commas"),
        ("a,b\n1,2\n", "expected the header of small: table,cc,rate_mbit,metric,value"),
        ("table,cc,rate,metric,value\n", ":1: column rate_mbit lacking; column rate unknown; expected"),
        (HEADER, "no values; expected rows below the header"),
        (HEADER + "12,reno,50,rtt_ms\n", ":2: 4 fields; expected 5"),
        (HEADER + "12,reno,fast,rtt_ms,1\n", ":2: column rate_mbit: 'fast'; expected a number"),
        (HEADER + "12,reno,50,rtt_ms,n/a\n", ":2: column value: 'n/a'; expected a number"),
        (HEADER + "12,reno,50,rtt_ms,nan\n", ":2: column value: 'nan'; expected a number"),
        (
            HEADER + "12,reno,50,rtt_ms,1\n12,reno,50,rtt,1\n",
            ":3: column metric: 'rtt' is unknown; expected one of throughput_mbit, rtt_ms",
        ),
        (HEADER + "12,,50,rtt_ms,1\n", ":2: column cc: empty; expected a name"),
        (HEADER + "1,reno,50,rtt_ms,1\n1,reno,50.0,rtt_ms,2\n", ":3: column value: rtt_ms of this cell stands already in line 2"),
    ],
)
def test_a_bad_file_is_reported_with_file_and_line(format_, write, text, what):
    path = write(text)
    with pytest.raises(BadInput) as error:
        read_reference(path, [format_])
    assert str(error.value).startswith(str(path))
    assert what in str(error.value)
    assert "expected" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_header_is_answered_with_all_formats(format_, write):
    with pytest.raises(BadInput, match="no column is known; expected the header of one of wide, small; that of wide is run,flow"):
        read_reference(write("a,b\n1,2\n"), [WIDE, format_])


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("1,remo,50,rtt_ms,1", "column cc: no run with remo; expected one of reno, cubic"),
        ("1,reno,5,rtt_ms,1", "column rate_mbit: no run with 5 where cc reno; expected 50"),
        ("1,cubic,50,throughput_mbit,1", "column cc: no run with cubic; expected reno"),
    ],
)
def test_a_value_without_a_run_names_the_column_that_does_not_match(format_, write, row, what):
    measured = {(("reno", 50.0), "rtt_ms"): [1.0], (("cubic", 2.0), "rtt_ms"): [1.0], (("reno", 50.0), "throughput_mbit"): [1.0]}
    reference = read_reference(write(f"{HEADER}1,reno,50,rtt_ms,1\n{row}\n"), [format_])
    (item,) = without_run(reference, measured)
    assert why_missing(reference, item, measured) == f"{reference.path}:3: {what}"


def test_a_missing_file_a_folder_and_a_binary_have_different_messages(format_, tmp_path):
    with pytest.raises(BadInput, match="No such file"):
        read_reference(tmp_path / "none.csv", [format_])
    with pytest.raises(BadInput, match="Is a directory"):
        read_reference(tmp_path, [format_])
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(BadInput, match="not a text file"):
        read_reference(tmp_path / "binary.csv", [format_])
