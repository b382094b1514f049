"""The page of examples has all of them, with the words of their files."""

from pathlib import Path

import pytest
from support import docs_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gallery():
    return docs_script("gallery")


def test_the_page_is_that_of_the_files(gallery):
    assert (ROOT / "docs" / "examples.md").read_text() == gallery.page()


def test_each_has_a_figure_and_no_other_is_left(gallery):
    assert {path.stem for path in gallery.FIGURES.iterdir()} == {path.stem for path in gallery.shown()}
