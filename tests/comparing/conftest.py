import pytest

from dumbbell.comparing.format import Format, Metric, Tolerance


@pytest.fixture
def format_():
    """A small format: throughput by cc and rate, 3 % of the rate; rtt 10 % or 1 ms."""
    return Format(
        name="small",
        columns=("table", "cc", "rate_mbit", "metric", "value"),
        keys=("cc", "rate_mbit"),
        numbers=frozenset({"rate_mbit"}),
        metrics={
            "throughput_mbit": Metric(
                "Mbit/s",
                "Throughput",
                Tolerance(of_column=("rate_mbit", 0.03)),
                informative=lambda theirs, key: theirs < 0.94 * key["rate_mbit"],
                informative_rule="below the ceiling",
                bar=0.8,
                informative_bar=0.9,
            ),
            "rtt_ms": Metric("ms", "RTT", Tolerance(relative=0.1, absolute=1.0)),
        },
        measure=lambda _runs: {},
        loose=lambda key, _metric: key == ("reno", 50.0),
    )


@pytest.fixture
def write(tmp_path):
    """A function that writes a reference file."""

    def to_file(text):
        path = tmp_path / "reference.csv"
        path.write_text(text)
        return path

    return to_file
