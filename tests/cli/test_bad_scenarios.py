"""A mistake in a scenario is reported with file, line, key and what was expected; the command ends with status 2."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

GOOD = """\
name: good
path:
  rtt: 20ms
  delay: {where: before}
  bottleneck:
    rate: 10mbit
    shaper: tbf
    qdisc: {kind: pfifo, limit: 180p}
flows:
  - {cc: cubic, start: {first: 0s}}
duration: 2s
sample: 100ms
"""

CASES = {
    f"{file.stem}: {name}": case
    for file in sorted((Path(__file__).parent / "bad").glob("*.yaml"))
    for name, case in YAML(typ="safe").load(file).items()
}
"""Each replaces a text in the good scenario by another one. `place` is the line (null: not compared) and key (empty: not compared) in the
report, `wrong` and `expected` are parts of it."""


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_reported_in_one_line(name, dumbbell, tmp_path):
    case = CASES[name]
    (number, key), file = case["place"], tmp_path / "bad.yaml"
    assert GOOD.count(case["replace"]) == 1, "the case must change the scenario in one place"
    file.write_text(GOOD.replace(case["replace"], case["by"]))
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--json")
    assert (answer.status, answer.out) == (2, "")
    lines = [text for text in answer.err.splitlines() if not text.startswith("    ")]  # an error of syntax is shown below
    place = f"{file}:" if number is None else f"{file}:{number}: "
    found = [text for text in lines if text.startswith(place) and case["wrong"] in text]
    assert found, answer.err
    assert not key or found[0].startswith(f"{place}{key}: "), answer.err
    assert case["expected"] in found[0].split("; expected", 1)[1], answer.err
    assert all("; expected" in text and text.startswith(f"{file}:") for text in lines), answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty; expected keys"),
        (b"# only a remark\n", "is empty; expected keys"),
        (b"- name: x\n", "holds a list; expected keys"),
        (b"just text\n", "holds a single value; expected keys"),
        (b"name: \xff\xfe\n", "is not text in UTF-8; expected a scenario file"),
    ],
)
def test_a_file_that_holds_no_scenario(content, what, dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    answer = dumbbell("run", file)
    assert (answer.status, answer.out) == (2, "")
    assert what in answer.err
    assert answer.err.startswith(f"{file}:")


def test_a_file_that_is_not_there(dumbbell, tmp_path):
    answer = dumbbell("plan", tmp_path / "none.yaml")
    assert answer.status == 2
    assert answer.err == f"{tmp_path}/none.yaml: no such file; expected a scenario file\n"


def test_a_folder_for_a_file(dumbbell, tmp_path):
    answer = dumbbell("run", tmp_path)
    assert answer.status == 2
    assert answer.err == f"{tmp_path}: is a folder; expected a scenario file\n"


def test_all_problems_are_reported_at_once(dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("20ms", "20").replace("10mbit", "10").replace("180p", "180"))
    answer = dumbbell("run", file)
    assert [text.split(":")[1] for text in answer.err.splitlines()] == ["3", "6", "8"]


def test_all_refusals_of_the_simulator_are_reported_at_once(dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(
        GOOD.replace("kind: pfifo, limit: 180p", "kind: sfq, depth: 1p, divisor: 1").replace(
            "cc: cubic", "cc: cubic, bytes: 9e12B, first_write: 2kB, count: 3"
        )
    )
    answer = dumbbell("run", file)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.splitlines() == [
        f"{file}:8: path.bottleneck.qdisc.depth: 1 packets in all queues together; expected at least 2",
        f"{file}:10: flows.0.first_write: 2000 bytes; expected 1 to 1447",
        f"{file}:10: flows.0.bytes: 9000000000000 bytes; expected 1 to 6219112640264",
    ]


def test_the_good_scenario_is_valid(dumbbell, tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    assert dumbbell("plan", file, "--out", tmp_path / "out", "--json").status == 0
