"""Names as users type them."""

import pytest

from dumbbell.errors import BadInput
from dumbbell.results.columns import as_numbers, bare, find_column, find_key, in_order, is_meant, short, unit_of, unknown_column

KEYS = ["path.rtt", "flows.0.cc", "path.bottleneck.qdisc"]
COLUMNS = ["goodput_mbit", "srtt_mean_ms", "srtt_p95_ms", "completion_s", "drops"]


@pytest.mark.parametrize(("word", "key"), [("path.rtt", "path.rtt"), ("rtt", "path.rtt"), ("0.cc", "flows.0.cc"), ("qdisc", KEYS[2])])
def test_a_key_is_found_by_its_last_words(word, key):
    assert find_key(word, KEYS, f"--x {word!r}") == key


def test_a_word_of_two_keys_is_refused_in_a_line_that_names_both():
    with pytest.raises(BadInput) as error:
        find_key("cc", ["flows.0.cc", "flows.1.cc"], "--by 'cc'")
    assert str(error.value) == "--by 'cc' is ambiguous: flows.0.cc and flows.1.cc end with it; expected one of them"


def test_an_unknown_key_comes_with_the_nearest():
    with pytest.raises(BadInput, match=r"--x 'rrt' is unknown \(did you mean 'rtt'\?\); expected one of path.rtt, flows.0.cc"):
        find_key("rrt", KEYS, "--x 'rrt'")
    with pytest.raises(BadInput, match="the runs differ in no key; expected runs of a sweep"):
        find_key("rtt", [], "--x 'rtt'")


@pytest.mark.parametrize(
    ("word", "column"),
    [
        ("goodput_mbit", "goodput_mbit"),
        ("goodput", "goodput_mbit"),
        ("throughput_mbit", "goodput_mbit"),
        ("throughput", "goodput_mbit"),
        ("srtt_mean", "srtt_mean_ms"),
        ("completion", "completion_s"),
        ("drops", "drops"),
        ("srtt", None),
        ("rtt", None),
    ],
)
def test_a_column_is_found_without_its_unit_and_by_its_former_name(word, column):
    assert find_column(word, COLUMNS) == column


def test_an_unknown_column_comes_with_those_that_begin_with_it():
    assert str(unknown_column("srtt", COLUMNS, "--y 'srtt'")) == "--y 'srtt' is no column; expected srtt_mean_ms or srtt_p95_ms"
    assert "(did you mean 'goodput'?)" in str(unknown_column("godput", COLUMNS, "--y 'godput'"))


def test_a_column_has_a_name_without_its_unit():
    assert (bare("drops"), unit_of("drops"), bare("srtt_p95_ms"), unit_of("app_limited")) == ("drops", "packets", "srtt_p95", "share")


def test_keys_are_as_short_as_they_can_be():
    keys = [*KEYS, "path.back.rtt", "flows.1.cc"]
    assert [short(key, keys) for key in keys] == ["path.rtt", "flows.0.cc", "qdisc", "back.rtt", "flows.1.cc"]
    assert short("seed", keys) == "seed"
    assert short("flows.*.cc", ["flows.*.cc", "flows.0.cc"]) == "flows.*.cc"


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["20ms", "1s", "500us", "5ms"], ([20, 1000, 0.5, 5], "ms")),
        (["1gbit", "100mbit", "10mbit"], ([1000, 100, 10], "Mbit/s")),
        (["0.5bdp", "1bdp"], ([0.5, 1], "BDP")),
        (["64KiB", "1MB"], ([64, 1e6 / 1024], "KiB")),
        (["10p", "100p"], ([10, 100], "packets")),
        ([1, 2.5], ([1, 2.5], "")),
        (["0.1 %", "1 %"], ([0.1, 1], "%")),
        (["20ms", "1bdp"], None),
        (["cubic", "reno"], None),
        (["pfifo limit=100p"], None),
        ([True], None),
        ([], None),
    ],
)
def test_coordinates_with_units_are_numbers_of_one_unit(values, numbers):
    found = as_numbers(values)
    assert found == (numbers if numbers is None else (pytest.approx(numbers[0]), numbers[1]))


@pytest.mark.parametrize(
    ("value", "typed", "same"),
    [
        ("20ms", "0.02s", True),
        ("10mbit", "10Mbit/s", True),
        ("1bdp", "1 BDP", True),
        ("64KiB", "65536B", True),
        (3, "3.0", True),
        ("20ms", "20", False),
        ("6.1", "6.10", False),
        ("cubic", "reno", False),
        ("pfifo limit=1p", "pfifo limit=1p", True),
    ],
)
def test_what_is_typed_means_equal_quantities(value, typed, same):
    assert is_meant(value, typed) is same


def test_an_axis_is_in_the_order_of_its_numbers_and_words_stay():
    assert in_order(["1s", "20ms", "100ms", "20ms"]) == ["20ms", "100ms", "1s"]
    assert in_order(["pie", "codel"]) == ["pie", "codel"]
