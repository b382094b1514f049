"""The simulator's ends against recorded answers of Linux."""

import json
from collections import Counter

import pytest
from record_ends import PLANS, RECORDS, is_crossed, is_new, is_reset, mended, recorded

from dumbbell.agreement.ends import KINDS, cases
from dumbbell.agreement.ends.comparing import difference, shown


@pytest.fixture(scope="module")
def found():
    """The recorded cases with the answers of both ends: case, kernel, simulator."""
    listed = recorded()
    answers = cases.replayed([each["case"] for each in listed])
    return [(each["case"], each["kernel"], sim) for each, sim in zip(listed, answers, strict=True)]


@pytest.mark.parametrize("stack", RECORDS)
def test_the_simulator_answers_as_linux_did(stack):
    listed = recorded(stack)
    assert {each["case"].get("stack", "linux-6.12") for each in listed} == {stack}
    answers = cases.replayed([each["case"] for each in listed])
    pairs = [(each["case"], each["kernel"], sim) for each, sim in zip(listed, answers, strict=True)]
    apart = [(case, kernel, sim, difference(case, kernel, sim)) for case, kernel, sim in pairs]
    assert not ["\n".join(shown(case, each, kernel, sim)) for case, kernel, sim, each in apart if each is not None]


@pytest.mark.parametrize("each", mended(), ids=lambda each: each["name"])
def test_what_was_mended_stays_mended(each):
    case, kernel = each["case"], each["kernel"]
    [sim] = cases.replayed([case])
    assert not isinstance(sim, cases.Impossible), sim
    apart = difference(case, kernel, sim)
    assert apart is None, "\n".join(shown(case, apart, kernel, sim))


def test_all_kinds_and_controls_are_recorded(found):
    described = Counter(
        (
            *(case[name] for name in ("kind", "cc", "ecn", "tso")),
            *(case.get(name, True) for name in ("sack", "timestamps")),
            is_reset(case),
            is_crossed(case),
        )
        for case, _, _ in found
    )
    expected = Counter()
    for count, *plan in PLANS:
        expected[(*plan, False, False)[:8]] += count
    assert described == expected
    assert described.total() == 220


def test_what_is_recorded_tells_other_behaviour(found):
    """Ends that send a millisecond later, or with another window, would be noticed in nearly every case."""
    later = [{**answer, "at_ns": answer["at_ns"] + 1_000_000} for answer in found[0][2]]
    assert difference(found[0][0], found[0][1], later).name.startswith("time of a SYN")
    sending = [each for each in found if each[0]["kind"] == "send"]
    altered = [[{**answer, "cwnd": answer["cwnd"] + 1} if "cwnd" in answer else answer for answer in sim] for _, _, sim in sending]
    apart = [difference(case, kernel, sim) for (case, kernel, _), sim in zip(sending, altered, strict=True)]
    assert all(each is not None and each.name.startswith("cwnd in") for each in apart)


def test_a_case_is_played_again_in_the_same_way():
    """The case alone leads to the same answers as its live peer."""
    for kind in KINDS:
        played = cases.drawn(7, 0, 20, kind, "cubic", True, False)
        assert json.dumps(cases.replayed([case for case, _ in played])) == json.dumps([answers for _, answers in played])


def test_what_linux_7_3_does_is_not_what_6_12_does():
    received = [each for each in recorded("linux-7.3") if each["case"]["kind"] != "send"]
    assert len(received) == 20
    assert all(is_new(each["case"], each["kernel"]) for each in received)
