"""Distributions as a user writes them, their means, and what is drawn from them."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.documents.model import Model
from dumbbell.documents.source import FOLDER
from dumbbell.native import native
from dumbbell.scenario import Duration, ScenarioError, Size
from dumbbell.scenario.values.distributions import Drawn, bounds, is_drawn, mean, planned


class Settings(Model):
    """Something with a size and a time."""

    size: Drawn[Size]
    think: Drawn[Duration] = Duration(0)


def drawn(written, count=100_000):
    """Numbers from a distribution of sizes as it is written."""
    plan = json.dumps(planned(Settings(size=written).size))
    return np.frombuffer(native().draws(plan, 1, "workload/w", count), dtype="<u8")


WRITTEN = [
    "15kB",
    {"exponential": "15kB"},
    {"uniform": ["1kB", "3kB"]},
    {"lognormal": {"median": "10kB", "sigma": 1}},
    {"pareto": {"shape": 1.2, "least": "1kB", "most": "1MB"}},
    {"pareto": {"shape": 1, "least": "1kB", "most": "1MB"}},
    {"mixture": [{"share": 0.9, "of": "15kB"}, {"share": 0.1, "of": {"exponential": "1MB"}}]},
    {"known": "web-search"},
]


@pytest.mark.parametrize("written", WRITTEN, ids=str)
def test_what_is_drawn_has_the_mean_and_the_bounds_that_are_stated(written):
    size = Settings(size=written).size
    found, expected = drawn(written), float(mean(size))
    error = found.std() / math.sqrt(len(found))
    assert abs(found.mean() + 0.5 - expected) <= 4 * error + 1
    low, high = bounds(size)
    assert found.min() >= low
    assert high is None or found.max() <= high
    assert is_drawn(size) == (found.min() != found.max())


@pytest.mark.parametrize("written", WRITTEN, ids=str)
def test_a_distribution_is_written_as_it_was_read(written):
    settings = Settings(size=written)
    dumped = settings.model_dump(mode="json")
    assert Settings.model_validate(json.loads(json.dumps(dumped))) == settings
    assert dumped["size"] == written


@pytest.mark.parametrize("written", WRITTEN, ids=str)
def test_a_distribution_can_be_sent_to_another_process(written):
    settings = Settings(size=written)
    again = pickle.loads(pickle.dumps(settings))
    assert (again, type(again.size)) == (settings, type(settings.size))


@given(shape=st.floats(0.1, 5), least=st.integers(1, 10**6), factor=st.integers(1, 10**4))
def test_the_mean_of_a_pareto_distribution_is_within_its_bounds(shape, least, factor):
    size = Settings(size={"pareto": {"shape": shape, "least": f"{least}B", "most": f"{least * factor}B"}}).size
    assert least * (1 - 1e-9) <= mean(size) <= least * factor


def test_draws_belong_to_a_seed_and_a_component():
    plan = json.dumps(planned(Settings(size={"exponential": "15kB"}).size))
    first = native().draws(plan, 1, "workload/w", 10)
    assert first == native().draws(plan, 1, "workload/w", 10)
    assert first[:40] == native().draws(plan, 1, "workload/w", 5)
    assert len({first, native().draws(plan, 2, "workload/w", 10), native().draws(plan, 1, "workload/v", 10)}) == 3
    with pytest.raises(ValueError, match="sigma"):
        native().draws('{"kind": "lognormal", "median": 1, "sigma": -1.0}', 1, "a", 1)


def test_a_file_is_found_beside_the_scenario_and_read_once(tmp_path):
    (tmp_path / "sizes.csv").write_text("# measured\nkB,share\n1,0.5\n3.5,1\n")
    settings = Settings.model_validate({"size": {"file": "sizes.csv"}}, context={FOLDER: tmp_path})
    assert planned(settings.size) == {"kind": "empirical", "points": [[1000, 0.5], [3500, 1.0]]}
    assert mean(settings.size) == 0.5 * 1000 + 0.5 * 2250
    again = Settings.model_validate(settings.model_dump(mode="json"))  # without the file
    assert again == settings


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "is empty"),
        ("1,2\n", ":1: '1,2' is no line of units"),
        ("ms,share\n1,1\n", ":1: 'ms,share' is no line of units"),
        ("kB,share\n1\n", ":2: 1 numbers"),
        ("kB,share\n\n1,x\n", ":3: '1,x' are not all numbers"),
        ("B,share\n0.5,1\n", ":2: '0.5B' is not a whole number of bytes"),
        ("kB,share\n2,0.5\n1,1\n", "1kB with a share of 1.0 does not follow"),
        ("kB,share\n2,nan\n", "share of nan"),
        ("kB,share\n2,0.5\n", "the shares end with 0.5"),
    ],
)
def test_a_bad_file_is_told_with_its_line(tmp_path, text, line):
    (tmp_path / "sizes.csv").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        Settings(size={"file": str(tmp_path / "sizes.csv")})
    assert line in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("15ms", "size: '15ms' has an unknown unit 'ms'"),
        ({"exponential": "15ms"}, "size.exponential: '15ms' has an unknown unit 'ms'"),
        ({"exponentail": "15kB"}, "unknown distribution 'exponentail' (did you mean 'exponential'?)"),
        ({}, "unknown distribution 'nothing'"),
        ({"uniform": ["2kB", "1kB"]}, "size.uniform: 2kB to 1kB is no range"),
        ({"lognormal": {"median": "1kB", "sigma": -1}}, "size.lognormal.sigma: -1 is out of range"),
        ({"pareto": {"shape": 1, "least": "1kB"}}, "size.pareto.most: is missing"),
        ({"pareto": {"shape": 1, "least": "0B", "most": "1kB"}}, "size.pareto: 0"),
        ({"mixture": [{"share": 0.5, "of": "1kB"}]}, "size.mixture: shares of 0.5 together"),
        ({"known": "websearch"}, "'websearch' is unknown (did you mean 'web-search'?)"),
        ({"file": "none.csv"}, "size.file: cannot read none.csv"),
    ],
)
def test_what_is_no_distribution_is_refused_in_one_line(written, line):
    with pytest.raises(ScenarioError) as caught:
        Settings(size=written)
    assert line in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_times_are_not_drawn_from_sizes():
    with pytest.raises(ScenarioError, match="web-search is a distribution of sizes"):
        Settings(size="1kB", think={"known": "web-search"})
