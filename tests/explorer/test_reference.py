"""dumbbell's numbers compared with those of a reference."""

import pytest
from explorer import stores

from dumbbell.explorer.export import export
from dumbbell.explorer.reference import reference_document
from dumbbell.explorer.runs import Runs
from dumbbell.results import load


@pytest.fixture(scope="module")
def compared(made):
    """The folder of a sweep, and its document with reference numbers that are 0, 2, 4 ... less."""
    folder, _ = made("sweep")
    return folder, *stores.compared(folder)


def test_cells_have_the_numbers_of_the_difference_and_the_runs_they_are_of(compared):
    folder, document, found = compared
    (format_,) = document["formats"]
    errors = [abs(cell["error"]) / cell["tolerance"] for cell in format_["cells"]]
    assert errors == sorted(errors, reverse=True)
    assert {(tuple(cell["key"].values()), cell["ours"], cell["reference"], cell["within"]) for cell in format_["cells"]} == {
        (tuple(cell.key.values()), cell.ours, cell.theirs, cell.within) for cell in found.cells
    }
    runs = {run.key: run for run in load(folder)}
    for cell in format_["cells"]:
        if cell["metric"] == "spread":
            assert cell["runs"] == []
        else:
            (key,) = cell["runs"]
            assert runs[key].summary.run["drops"] == cell["ours"]


def test_nothing_compared_is_no_document(made):
    assert reference_document([], list(load(made("small")[0]))) is None


def test_maps_and_numbers_are_shown_and_lead_to_series(compared, opened, tmp_path):
    folder, document, found = compared
    file = tmp_path / "page.html"
    file.write_bytes(export(Runs(folder, "compared", lambda: document)).content)
    page = opened(f"{file.as_uri()}#tab=reference")
    assert page.locator(".map").count() == 3
    outside = sum(not cell.within for cell in found.cells)
    assert page.locator("tbody strong.outside").count() == outside
    assert page.locator(".map").first.locator("button.outside").count() == sum(not c.within for c in found.cells if c.metric == "drops")
    page.locator("tbody .link").first.click()
    page.wait_for_selector(".panel")
    assert page.faults == []
