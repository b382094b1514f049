"""A comparison of two engines in the explorer: the numbers of each scenario, what moved first, and the runs behind them."""

import json

import pytest

from dumbbell.agreement.explored import comparison_document, engines_of, is_comparison
from dumbbell.errors import BadInput
from dumbbell.results import Store


@pytest.fixture
def folder(dumbbell, flavoured, tmp_path):
    """A folder of `dumbbell agree` of two engines that differ."""
    flavoured(initial_cwnd=2, rto_min_ms=1500)
    assert dumbbell("agree", "smoke", "--out", tmp_path / "agree", "--no-figures").status == 0
    return tmp_path / "agree"


def test_numbers_of_both_engines_lead_to_their_runs(folder, dumbbell, tmp_path):
    assert is_comparison(folder)
    assert not is_comparison(folder / "kernel")
    assert engines_of(folder) == ("kernel", "sim")
    (format_,) = comparison_document(folder)["formats"]
    assert (format_["name"], format_["names"]) == ("smoke", {"ours": "sim", "reference": "kernel"})
    ranks = [(cell["within"], -abs(cell["error"]) / cell["tolerance"]) for cell in format_["cells"]]
    assert ranks == sorted(ranks)
    assert not all(cell["within"] for cell in format_["cells"])
    stored = {engine: {run.key: run.name for run in Store(folder / engine).runs()} for engine in ("kernel", "sim")}
    for cell in format_["cells"]:
        assert {name for key in cell["runs"] for runs in stored.values() for name in [runs.get(key)] if name} == {cell["key"]["scenario"]}
        assert all(set(cell["runs"]) & runs.keys() for runs in stored.values())
    answer = dumbbell("view", folder, "--export", tmp_path / "page.html")
    assert answer.status == 0
    assert "48 runs" in answer.err


def test_of_two_kernels_what_moved_is_outside(folder):
    document = json.loads((folder / "agree.json").read_text())
    name = document["worst"][0]["scenario"]
    moved = {"workload": name, "baseline": 0.5, "kernel": 0.25, "change": -0.5, "p": 0.002}
    document["changes"] = {"moved": [moved | {"measure": "acks"}, moved | {"measure": "goodput", "p": 0.0004}]}
    (folder / "agree.json").write_text(json.dumps(document))
    (format_,) = comparison_document(folder)["formats"]
    assert [(cell["key"]["scenario"], cell["metric"], cell["fault"]) for cell in format_["cells"] if not cell["within"]] == [
        (name, "acks", "p = 0.002"),
        (name, "goodput", "p = 0.0004"),
    ]
    assert format_["metrics"]["acks"]["title"] == "ACKs per data packet"


def test_damaged_comparisons_are_named_in_one_line(folder):
    (folder / "differences.csv").write_text("scenario\nx\n")
    with pytest.raises(BadInput, match="agree: cannot be read"):
        comparison_document(folder)
    (folder / "agree.json").write_text('{"engine": "../sim", "reference": "kernel"}')
    with pytest.raises(BadInput, match="names no engine"):
        engines_of(folder)
    (folder / "agree.json").write_text("[1]")
    with pytest.raises(BadInput, match="holds no comparison"):
        engines_of(folder)
