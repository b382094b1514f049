"""The pages of studies in the documentation: docs/explorer.py."""

import importlib.util
from pathlib import Path

import pytest

from dumbbell.studies.registry import find_part
from dumbbell.studies.study import Request

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
    from dumbbell.studies.registry import study_names

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
