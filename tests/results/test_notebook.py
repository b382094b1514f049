"""Display of runs in an interpreter and in a notebook."""

from dataclasses import replace

from support import make_run

from dumbbell.results import Results


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
    for html in (run._repr_html_(), Results((run,) * 25)._repr_html_()):
        assert "<img" not in html
        assert "&lt;img" in html
        assert "goodput_mbit" in html
        assert "jain_index" not in run._repr_html_()
    assert Results((run,) * 25)._repr_html_().endswith("<p>and 5 more</p>")
