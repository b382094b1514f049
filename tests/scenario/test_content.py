"""The content of a run that its key is made of: what differs from the defaults."""

from types import SimpleNamespace

from pydantic import create_model

from dumbbell.running.prepare import _key, prepare
from dumbbell.scenario import Scenario
from dumbbell.scenario import content as contents
from dumbbell.scenario.content import Content
from dumbbell.scenario.model import Settings

MINIMAL = """
name: a
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic}]
duration: 3s
"""
"""The fewest keys that a scenario can have."""
DEFAULTS = """
name: b
path: {rtt: 20ms, mtu: 1500, bottleneck: {rate: 10mbit, qdisc: {kind: fq_codel, target: 5ms}}}
flows: [{cc: {kind: cubic}, count: 1, host: {offload: none}, stack: linux-6.12}]
duration: 3s
seed: 1
passive_rtt: false
"""
"""The same, with some of the defaults written."""


def runs(text):
    return list(Scenario.from_text(text).expand())


def key(text, **changes):
    (prepared,) = prepare(runs(text.replace("cc: cubic", changes["cc"]) if changes else text), on="sim")
    return prepared.key


def test_it_has_what_differs_from_the_defaults_alone():
    (run,) = runs(MINIMAL)
    path = '{"bottleneck": {"qdisc": {"kind": "fq_codel"}, "rate": "10mbit"}, "rtt": "20ms"}'
    assert run.content.text == f'{{"duration": "3s", "flows": [{{"cc": "cubic"}}], "path": {path}}}'
    assert "target" in str(run.dump()), "what is stored has all of it"


def test_a_default_that_is_written_changes_no_key():
    assert key(MINIMAL) == key(DEFAULTS)
    assert key(MINIMAL) != key(MINIMAL, cc="cc: cubic, stack: {base: linux-6.12, initial_cwnd: 4}")
    assert key(MINIMAL) != key(MINIMAL.replace("fq_codel", "codel")), "the engine's text of the plan names the discipline"


def test_a_key_that_dumbbell_learns_changes_no_key_of_a_run(monkeypatch):
    settings = runs(MINIMAL)[0].settings
    before = Content.of(settings)
    newer = create_model("Newer", __base__=Settings, later=(int, 3))
    monkeypatch.setattr(contents, "Settings", newer)
    written = settings.model_dump(exclude_unset=True)
    assert Content.of(newer.model_validate(written)).text == before.text
    assert Content.of(newer.model_validate(written | {"later": 3})).text == before.text
    assert '"later": 4' in Content.of(newer.model_validate(written | {"later": 4})).text


def test_a_default_that_changes_is_in_the_text_of_the_plan():
    (run,) = runs(MINIMAL)
    engine = SimpleNamespace(name="sim", as_text=lambda compiled: compiled)
    assert _key(engine, ("v1",), run, "initial_cwnd 10") != _key(engine, ("v1",), run, "initial_cwnd 20")


def test_cells_of_a_sweep_have_the_content_of_runs_of_their_own():
    swept = Scenario.from_text(MINIMAL + "sweep: {seed: [1, 2], path.rtt: [20ms, 40ms]}\nrepeat: 1\n")
    for run in swept.expand():
        assert run.content.text == Content.of(run.settings).text
        assert run.content.data == Content.of(run.settings).data
    assert '"seed"' not in runs(MINIMAL)[0].content.text
