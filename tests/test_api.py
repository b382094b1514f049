"""The Python interface: scenarios have the same fields as in a file."""

import pathlib
import re

import pytest

import dumbbell
from dumbbell import Bottleneck, Cake, Flow, Path, Pfifo, Rate, Scenario, ScenarioError, Start

TEXT = """\
name: notebook
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows: [{cc: reno, start: {jitter: 10ms}}]
duration: 2s
sweep: {path.rtt: [10ms, 20ms]}
repeat: 2
"""


def scenario(**more):
    settings = {
        "name": "notebook",
        "path": Path(rtt="20ms", bottleneck=Bottleneck(rate=Rate.parse("10mbit"), qdisc=Pfifo(limit="1bdp"))),
        "flows": [Flow(cc="reno", start=Start(jitter="10ms"))],
        "duration": "2s",
        "sweep": {"path.rtt": ["10ms", "20ms"]},
        "repeat": 2,
    }
    return Scenario(**{**settings, **more})


def test_a_scenario_from_python_equals_the_one_from_a_file():
    from_text = dumbbell.Scenario.from_text(TEXT)
    assert scenario() == from_text
    assert scenario().dump() == from_text.dump()
    assert scenario().expand() == from_text.expand()


def test_run_gives_frames():
    results = dumbbell.run(scenario())
    assert len(results) == 4
    assert results.frame.columns == ["path.rtt", "path.rtt_ms", "seed", "t_ns", "entity", "series", "value"]
    assert set(results.frame["entity"]) == {"flow/reno", *(f"port/{n}{r}" for n in ("delay", "bottleneck") for r in ("", "-reverse"))}
    t_s, received = results[0].series("flow/reno", "rx_bytes")
    assert received[-1] / t_s[-1] > 500_000


def test_load_gives_what_run_gave(tmp_path):
    kept = dumbbell.run(scenario(), tmp_path / "out")
    again = dumbbell.load(tmp_path / "out")
    assert list(again) == list(kept)
    assert again.counters.equals(kept.counters)
    assert again.frame.equals(dumbbell.run(scenario()).frame, null_equal=True)


def test_models_accept_the_strings_of_a_file():
    bottleneck = Bottleneck(qdisc=Cake(rate="5mbit", sce="single"))
    assert bottleneck.shaper_kind == "cake"
    assert bottleneck.rate_bps == 5_000_000


@pytest.mark.parametrize(
    ("make", "lines"),
    [
        (lambda: Flow(cc="reno", rtt="20"), ["rtt: '20' has no unit; expected a time such as 20ms (ns, us, ms, s, min, h)"]),
        (lambda: Flow(), ["cc: is missing; expected the key cc"]),
        (
            lambda: Scenario(
                name="s",
                path={"rtt": "20ms", "bottleneck": {"rate": 10, "qdisc": {"kind": "pfifo", "limt": "9p", "limit": "9p"}}},
                flows=[Flow(cc="reno"), {"cc": "reno", "count": 0}],
                duration="1s",
            ),
            [
                "path.bottleneck.rate: 10 has no unit; expected a rate such as 10mbit (bit, kbit, mbit, gbit)",
                "path.bottleneck.qdisc.limt: unknown key (did you mean 'limit'?); expected one of kind, limit",
                "flows.1.count: 0 is out of range; expected at least 1",
            ],
        ),
        (lambda: scenario(duration="0s").expand(), ["duration: 0s is no time at all; expected a time above 0"]),
    ],
)
def test_errors_use_the_keys_of_a_file(make, lines):
    with pytest.raises(ScenarioError) as error:
        make()
    assert str(error.value).splitlines()[: len(lines)] == lines


def test_all_exported_names_exist():
    assert {"Scenario", "run", "Pfifo", "FqCodel", *dumbbell.__all__} <= set(dir(dumbbell))
    for name in dir(dumbbell):
        assert getattr(dumbbell, name) is not None


@pytest.mark.parametrize("name", ["Pfifofast", "scenarios", "_private"])
def test_what_is_not_exported_is_no_attribute(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(dumbbell, name)


def test_the_version_is_the_same_everywhere():
    """Wheels have the version of Cargo.toml."""
    root = pathlib.Path(__file__).parents[1]
    written = {
        "Cargo.toml": r'^version = "(.*)"$',
        "CITATION.cff": r"^version: (.*)$",
        "CHANGELOG.md": r"^## (\S+) \((?:unreleased|20\d\d-\d\d-\d\d)\)$",
        "mkdocs.yml": r"^copyright: dumbbell (\S+),",
    }
    for name, pattern in written.items():
        assert re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)[1] == dumbbell.__version__, name
