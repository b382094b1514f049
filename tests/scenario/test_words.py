"""Short forms that are accepted, and what dumbbell says to a user who wrote another word."""

import pytest

from dumbbell.scenario import Scenario, ScenarioError

TEXT = """\
name: a
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: fq_codel}}
flows: [{cc: reno, start: 500ms}]
duration: 2s
"""


def test_a_name_stands_for_a_qdisc_and_a_time_for_a_start():
    short = Scenario.from_text(TEXT)
    long = Scenario.from_text(TEXT.replace("fq_codel", "{kind: fq_codel}").replace("500ms", "{first: 500ms}"))
    assert short == long
    assert short.expand()[0].dump() == long.expand()[0].dump()


def test_a_short_form_can_be_swept_and_widened():
    swept = Scenario.from_text(TEXT + "sweep: {path.bottleneck.qdisc: [codel, fq_codel], flows.0.start.every: [1ms, 2ms]}\n")
    runs = swept.expand()
    assert [run.settings.path.bottleneck.qdisc.kind for run in runs] == ["codel", "codel", "fq_codel", "fq_codel"]
    assert [str(run.settings.flows[0].start.every) for run in runs] == ["1ms", "2ms"] * 2


@pytest.mark.parametrize(
    ("written", "instead", "meant"),
    [
        ("10mbit", "10Mbps", "mbit"),
        ("10mbit", "10m", "mbit"),
        ("20ms", "20msec", "ms"),
        ("20ms", "20MS", "ms"),
        ("2s", "2seconds", "s"),
        ("fq_codel", "{kind: pfifo, limit: 10packets}", "p"),
        ("fq_codel", "{kind: bfifo, limit: 10KB}", "kB"),
        ("cc: reno", "cc: reno, bytes: 3Mib", "MiB"),
        ("cc: reno", "cc: reno, rate: 1mbit", "path.access.rate or path.bottleneck.rate"),
        ("cc: reno", "cc: reno, seed: 3", "seed or sweep.sample.seed"),
        ("duration: 2s", "duration: 2s\nlimit: 3p", "path.delay.limit or path.reverse.limit"),
        ("duration: 2s", "duration: 2s\ndurations: 3s", "'duration'"),
        ("duration: 2s", "duration: 2s\negress: {}", "hosts.NAME.egress"),
        ("duration: 2s", "duration: 2s\ncc: reno", "flows.*.cc or background.*.cc"),
    ],
)
def test_another_word_is_told_what_is_meant(written, instead, meant):
    with pytest.raises(ScenarioError, match=r"\(did you mean ") as error:
        Scenario.from_text(TEXT.replace(written, instead, 1))
    assert f" (did you mean {meant}?); expected " in str(error.value)


def test_a_misspelt_key_is_one_error_even_if_it_is_needed():
    with pytest.raises(ScenarioError) as error:
        Scenario.from_text(TEXT.replace("duration:", "duraton:", 1))
    (problem,) = error.value.problems
    assert problem.what == "unknown key (did you mean 'duration'?)"
