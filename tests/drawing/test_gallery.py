"""The page of examples has all of them, with the words of their files."""

import re
from pathlib import Path

import pytest
from support import docs_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gallery():
    return docs_script("gallery")


def test_the_page_is_that_of_the_files(gallery):
    assert (ROOT / "docs" / "examples.md").read_text() == gallery.page()


def test_each_example_has_a_question_and_a_figure_and_no_other_is_left(gallery):
    asked = [name for entries in gallery.GALLERY.values() for name in entries]
    assert sorted(asked) == [path.stem for path in gallery.shown()]
    assert {path.name for path in gallery.FIGURES.iterdir()} == {f"{name}.svg" for name in asked}
    assert all(entry.question.endswith("?") for entries in gallery.GALLERY.values() for entry in entries.values())


def test_a_figure_is_what_the_command_of_its_entry_draws(gallery, tmp_path, monkeypatch):
    kept = (gallery.FIGURES / "parking-lot.svg").read_text()
    monkeypatch.setattr(gallery, "FIGURES", tmp_path)
    gallery.draw("parking-lot", tmp_path)
    assert alike(tmp_path / "parking-lot.svg", kept)


def alike(path, kept):
    """True if two figures in SVG have the same words."""
    words = [re.findall(r"<text[^>]*>([^<]*)</text>", text) for text in (path.read_text(), kept)]
    return words[0] == words[1] != []
