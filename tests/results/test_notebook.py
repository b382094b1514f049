"""Display of runs in an interpreter and in a notebook."""

import json
import sys
import urllib.request
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support import make_run
from waiting import HANG_S

import dumbbell
from dumbbell import Scenario, notebooks
from dumbbell.errors import BadInput
from dumbbell.results import Results
from dumbbell.results.notebook import results_html


def test_a_run_is_one_line():
    run = make_run(cell={"path.rtt": "20ms", "seed": 1})
    assert repr(run) == "<Run 0000000000 of s (path.rtt: 20ms, seed: 1): ok, sim, 1 flow>"
    assert repr(make_run()) == "<Run 0000000000 of s: ok, sim, 1 flow>"


def test_results_are_one_line():
    runs = tuple(make_run(cell={"path.rtt": rtt, "seed": seed}) for rtt in ("20ms", "40ms") for seed in (1, 2, 3))
    assert repr(Results(runs)) == "<Results: 6 runs of s; path.rtt: 2 values, seed: 3 values>"
    assert repr(Results(())) == "<Results: 0 runs>"


def test_notebooks_show_tables_in_which_names_are_no_markup():
    hostile = "<img src=x onerror=alert(1)>"
    run = replace(make_run(cell={"qdisc": hostile}), name=hostile, status="warn", reasons=(hostile,))
    for html in (run._repr_html_(), results_html(Results((run,) * 25))):
        assert "<img" not in html
        assert "&lt;img" in html
        assert "goodput_mbit" in html
        assert "jain_index" not in run._repr_html_()
    assert results_html(Results((run,) * 25)).endswith("<p>and 5 more</p>")
    assert "<img" not in notebooks.results_html(Results((run,) * 25))


SWEEP = """
name: queues
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: fq_codel}}
flows: [{cc: cubic, start: {jitter: 100ms}}]
background: [{kind: ping}]
sweep: {path.bottleneck.qdisc: [{kind: pfifo, limit: 500p}, cake]}
repeat: 3
duration: 4s
"""


def test_a_scenario_is_one_line():
    text = repr(Scenario.from_text(SWEEP))
    assert text == "<Scenario queues: 1 flows, 1 background, 4s; 2 cells of path.bottleneck.qdisc; 3 seeds>"


def test_a_notebook_shows_results_by_cell_as_run_does_and_how_to_explore_them(tmp_path):
    results = dumbbell.run(Scenario.from_text(SWEEP), tmp_path / "queues")
    html = results._repr_html_()
    assert html.count("<tr>") == 3
    for text in ("pfifo limit=500p", "goodput (Mbit/s)", "ping (ms)", "cake keeps the ping at", "dumbbell.view(results)"):
        assert text in html
    assert dumbbell.load(tmp_path / "queues")._repr_html_() == html
    assert "dumbbell.view" not in dumbbell.run(Scenario.from_text(SWEEP))._repr_html_()


def test_view_serves_the_explorer_and_links_to_it(tmp_path):
    results = dumbbell.run(Scenario.from_text(SWEEP), tmp_path / "queues")
    explorer = dumbbell.view(results)
    try:
        assert f'<a href="{explorer.address}"' in explorer._repr_html_()
        with urllib.request.urlopen(explorer.address.replace("/?", "/api/runs?"), timeout=HANG_S) as answer:
            assert len(json.load(answer)["runs"]["facts"]["key"]) == 6
    finally:
        explorer.close()
    with pytest.raises(BadInput, match="in memory alone"):
        dumbbell.view(Results(results.runs))


def test_a_notebook_shows_the_progress_of_runs_that_take_a_while(monkeypatch):
    shown = []

    class Handle:
        def update(self, page):
            shown.append(page._repr_html_())

    def display(page, display_id):
        assert display_id
        shown.append(page._repr_html_())
        return Handle()

    modules = {
        "IPython": SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())),
        "IPython.display": SimpleNamespace(display=display),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    dumbbell.run(Scenario.from_text(SWEEP))
    quick = list(shown)
    monkeypatch.setattr("dumbbell.notebooks._PATIENCE_S", 0.0)
    monkeypatch.setattr("dumbbell.notebooks._EVERY_S", 0.0)
    dumbbell.run(Scenario.from_text(SWEEP))
    assert quick == []
    assert '<progress max="1"' in shown[0]
    assert "6 of 6 runs" in shown[-2]
    assert shown[-1] == ""
