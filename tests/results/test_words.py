"""Names of keys and columns in figures."""

import pytest

from dumbbell.results.columns import COLUMNS
from dumbbell.results.words import column_words, key_words


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("path.rtt", "base RTT"),
        ("path.bottleneck.qdisc", "queue discipline"),
        ("path.bottleneck.qdisc.limit", "queue limit"),
        ("path.reverse.rate", "reverse rate"),
        ("flows.0.cc", "congestion control"),
        ("own.key", "own.key"),
    ],
)
def test_a_key_has_words(key, words):
    assert key_words(key) == words


def test_two_keys_of_the_same_words_are_told_apart():
    assert [key_words(key, ("flows.0.cc", "flows.1.cc")) for key in ("flows.0.cc", "flows.1.cc")] == ["flows.0.cc", "flows.1.cc"]


def test_a_column_has_words_with_its_unit():
    assert column_words("srtt_mean_ms") == "mean smoothed RTT (ms)"
    assert column_words("rtt_p95_ms") == "95th percentile of RTT (ms)"
    assert column_words("flow_goodput_mbit") == "goodput of a flow (Mbit/s)"
    assert not any("_" in column_words(column) for columns in COLUMNS.values() for column in columns)
