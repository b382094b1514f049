"""The best queue of a sweep: when the runs decide, and when they do not."""

import pytest
from across import outline

from dumbbell.comparing.across.advice import advise, named
from dumbbell.comparing.across.answer import answer_of

KEY = "path.bottleneck.qdisc"


def answer(queues, **other):
    """The answer of runs: queue -> ping and goodput of each seed; `other`: further coordinates."""
    return [
        outline({KEY: queue, **other, "seed": seed}, [("a", "a", "cubic", "forward", rate)], streams=[("ping", rtt)])
        for queue, values in queues.items()
        for seed, (rtt, rate) in enumerate(values, 1)
    ]


def advice(*runs):
    return advise(answer_of("made", [each for listed in runs for each in listed]))


SLOW = [(318.0, 9.5), (319.0, 9.55), (320.0, 9.6)]
FAST = [(31.0, 9.0), (31.1, 9.05), (31.2, 9.1)]


def test_the_queue_that_no_other_beats_is_the_best_and_the_evidence_names_numbers():
    found = advice(answer({"pfifo limit=1000p": SLOW, "cake": FAST}))
    assert [named(queue) for queue in found.best] == ["cake"]
    (line,) = found.lines
    assert line.startswith("cake against pfifo limit=1000p: ping 31.1±0.2 instead of 319±2 ms")
    assert "goodput" in line  # what the best is worse at is said as well


def test_overlapping_intervals_and_small_differences_decide_nothing():
    near = [(30.8, 9.01), (31.2, 9.06), (31.4, 9.09)]
    smaller = [(29.9, 9.0), (30.0, 9.05), (30.1, 9.1)]  # beyond chance, and 3.5 %
    for other in (near, smaller):
        found = advice(answer({"pfifo limit=1000p": SLOW, "fq_codel": other, "cake": FAST}))
        assert [named(queue) for queue in found.best] == ["fq_codel", "cake"]
        assert found.lines[0].startswith("Cannot decide between fq_codel and cake: the intervals overlap")
        assert "fq_codel against pfifo limit=1000p: " in found.lines[1]


def test_queues_that_are_better_in_different_conditions_are_both_left():
    one = answer({"a": FAST, "b": SLOW}, **{"path.rtt": "10ms"})
    other = answer({"a": SLOW, "b": FAST}, **{"path.rtt": "80ms"})
    found = advice(one, other)
    assert [named(queue) for queue in found.best] == ["a", "b"]
    assert found.lines[0] == "Cannot decide between a and b: neither is better throughout."
    assert any(line.endswith("(at rtt 10ms).") for line in found.lines)
    assert any(line.endswith("(at rtt 80ms).") for line in found.lines)


@pytest.mark.parametrize(("count", "why"), [(1, "each cell has one run"), (3, "the runs of each cell are equal")])
def test_without_chance_nothing_is_decided(count, why):
    found = advice(answer({"pfifo": SLOW[:1] * count, "cake": FAST[:1] * count}))
    assert len(found.best) == 2
    assert found.lines == [f"Cannot decide: {why}, so that nothing tells a difference from chance."]


def test_a_sweep_over_something_else_has_no_advice():
    runs = [outline({"path.rtt": rtt, "seed": 1}, [("a", "a", "cubic", "forward", 9.0)]) for rtt in ("10ms", "20ms")]
    assert advise(answer_of("made", runs)) is None
