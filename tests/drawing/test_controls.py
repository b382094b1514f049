"""The page of congestion controls has a figure and a line for each, whatever engine there is."""

from pathlib import Path

import pytest
from support import docs_script

from dumbbell.errors import BadInput
from dumbbell.running.prepare import prepare

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page():
    return docs_script("controls")


def test_the_section_is_that_of_the_controls_there_are(page):
    text = (ROOT / "docs" / "controls.md").read_text()
    assert len(page.BLOCK.findall(text)) == 1
    assert text == page.rewritten(text)


def test_each_has_a_figure_and_no_other_is_left(page):
    assert {path.name for path in page.FIGURES.iterdir()} == {f"{name}.png" for name in page.controls()}
    assert all(4_000 < path.stat().st_size < 60_000 for path in page.FIGURES.iterdir())


def test_every_engine_that_is_drawn_takes_the_scenario(page):
    for name in page.controls():
        (run,) = page.scenario(name).expand()
        assert prepare([run.on(each) for each in page.on(name)], keyed=False)
    assert page.on("bic") == ("kernel", "sim")
    assert page.on("reno-sce") == ("sim",)


def test_figures_of_the_simulator_alone_need_no_kernel(page, tmp_path, monkeypatch):
    copy = tmp_path / "controls.md"
    copy.write_text("# Head\n<!-- generated controls figures -->\nold\n<!-- end -->\ntail\n")
    monkeypatch.setattr(page, "FIGURES", tmp_path / "figures")
    monkeypatch.setattr(page, "PAGE", copy)
    monkeypatch.setattr(page, "RUNS", tmp_path / "runs")
    page.main(["reno-sce"])
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["reno-sce.png"]
    text = copy.read_text()
    assert "old" not in text
    assert text.startswith("# Head\n<!-- generated controls figures -->\n\n### bbr\n")
    assert text.endswith("<!-- end -->\ntail\n")
    with pytest.raises(BadInput, match=r"^congestion control 'bik' is unknown \(did you mean 'bic'\?\); expected one of bbr, bbr3, bic, "):
        page.main(["bik"])
