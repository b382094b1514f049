"""Case files, and how cases are cut down."""

import json

import pytest

from dumbbell.agreement.ends import cases, shrinking
from dumbbell.agreement.ends.comparing import Difference
from dumbbell.agreement.ends.rounds import Compared
from dumbbell.errors import BadInput


@pytest.fixture(scope="module")
def case():
    """A case of an end that sends, with packets."""
    return next(case for case, _ in cases.drawn(1, 0, 20, "send", "reno", False, False) if len(case["actions"]) > 20)


def test_a_case_comes_back_from_its_file(tmp_path, case):
    path = tmp_path / "case.json"
    path.write_text(cases.written(case))
    assert cases.read(path) == case
    assert len(path.read_text().splitlines()) == len(case["actions"]) + 2, "an action a line"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "not a case (Expecting"),
        ("[]", "not a case; `dumbbell agree ends --out DIR` writes cases"),
        ('{"seed": 1}', "not a case (missing field"),
    ],
)
def test_what_is_no_case_is_an_error_in_one_line(tmp_path, text, line):
    path = tmp_path / "case.json"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        cases.read(path)
    assert str(error.value).startswith(f"{path}: {line}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"cc": "vegas"}, "cc vegas: expected one of reno, cubic, dctcp, bbr"),
        ({"kind": "both", "tso": True}, "tso: an end that sends and receives has none in the simulator; expected false"),
    ],
)
def test_a_case_that_cannot_be_compared_is_an_error(tmp_path, case, changed, line):
    path = tmp_path / "case.json"
    path.write_text(json.dumps({**case, **changed, "actions": case["actions"][:1]}))
    with pytest.raises(BadInput) as error:
        cases.read(path)
    assert str(error.value) == f"{path}: {line}"


def test_an_ack_of_what_was_not_sent_is_an_error(tmp_path, case):
    path = tmp_path / "case.json"
    actions = [action | ({"ack": action["ack"] + 1} if action["do"] == "packet" else {}) for action in case["actions"]]
    path.write_text(json.dumps({**case, "actions": actions}))
    with pytest.raises(BadInput, match=r"action \d+: ack \d+ is at no border of a segment"):
        cases.read(path)


@pytest.mark.parametrize(("kind", "left"), [("both", [1, 7, 23]), ("send", [1, 2, 7, 23])])
def test_a_case_shrinks_to_what_its_difference_needs(monkeypatch, kind, left):
    """Two of 40 actions are needed: without them there is no difference, and with one alone another. The call of a one-way end stays."""

    def found(case):
        times = {action["at_ns"] for action in case["actions"]}
        name = {2: "the class", 1: "another"}.get(len(times & {7, 23}))
        return Compared(case, [], [], name and Difference(23, name, {"at_ns": 23}, None))

    monkeypatch.setattr(shrinking, "replayed", lambda listed, _kernel: [found(each) for each in listed])
    calls = [{"at_ns": 1, "do": "open"}, {"at_ns": 2, "do": "write", "bytes": 9}]
    actions = [*calls, *({"at_ns": at, "do": "packet"} for at in range(3, 41))]
    small = shrinking.shrunken(found({"kind": kind, "actions": actions, "end_ns": 10**9}))
    assert [action["at_ns"] for action in small.case["actions"]] == left
    assert small.difference.name == "the class"
    assert small.case["end_ns"] < 10**9
