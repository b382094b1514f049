"""The pages of studies in the documentation: docs/explorer.py."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.results.folder import Folder
from dumbbell.study import reproduction
from dumbbell.study.model import Request
from dumbbell.study.registry import find_part
from dumbbell.study.reproduction import beside_published

MOST = 60
"""Runs that the documentation makes of a study that was not reproduced."""
SCRIPT = Path(__file__).parents[2] / "docs" / "explorer.py"


@pytest.fixture(scope="module")
def script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("explorer_pages", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_study_has_a_page(script):
    parts = {find_part(name)[0].name for name in script.STUDIES.values()}
    from dumbbell.study.registry import study_names

    assert parts == set(study_names())
    assert set(script.QUICK) == set(script.STUDIES)


def test_quick_sets_are_small(script):
    for name in script.QUICK.values():
        assert 0 < len(find_part(name)[1].scenarios(Request(quick=True, seeds=1))) <= MOST


def test_a_study_that_was_reproduced_is_shown_and_no_page_is_larger_than_300_kb(script, made, tmp_path):
    """A sweep stands for the study, whose runs would take longer."""
    folder, _ = made("sweep")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "oracle").symlink_to(folder)
    (folder / "runs").mkdir(exist_ok=True)
    (page,) = script.pages(tmp_path / "pages", ("oracle",), tmp_path / "results")
    assert (page.name, page.quick) == ("oracle", False)
    assert page.title.startswith("Linux 6.12")
    assert 150_000 < page.file.stat().st_size <= 300_000


def test_a_part_without_published_numbers_stands_beside_those_of_its_study(tmp_path, monkeypatch):
    """One condition of section 9 is that of the tables."""
    study, part = find_part("ordering/variance")
    (name,) = {each.name for each in part.formats}
    assert name not in part.published
    values = {(4.0, "320ms", "CUBIC"), (6.0, "1M", "CUBIC")}
    measured = lambda _runs: {(key, "utilization"): [0.9] for key in values}  # noqa: E731
    formats = [replace(each, measure=measured) for each in study.parts["2006"].formats]
    known = replace(study, parts={"2006": replace(study.parts["2006"], formats=formats), part.name: part})
    monkeypatch.setattr(reproduction, "study_of", lambda folder: (known, part) if folder.request else None)
    found = beside_published(Folder(tmp_path, {"study": known.name, "part": part.name, "quick": True}, (), ()))
    assert [each.name for each, _ in found] == ["ncsu_utilization", "ncsu_utilization_ip"]
    assert {tuple(cell.key.values()) for cell in found[0][1].cells} == values
    assert {cell.theirs for cell in found[0][1].cells} == {0.871549}
    assert beside_published(Folder(tmp_path, {}, (), ())) == []
