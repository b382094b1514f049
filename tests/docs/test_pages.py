"""README, the tutorial and the how-to pages say what their commands print, and show what they draw."""

import re
import shutil

import numpy as np
import pytest
from PIL import Image
from required import missing

from docs import pages
from dumbbell.engines.testbed.hosts import Hosts

TRY = "if that is right: python docs/pages.py"


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.stem)
def test_a_page_is_what_its_commands_make(page):
    if "new cc" in page.read_text() and shutil.which("cc") is None:
        missing("compiler", "there is no C compiler (cc), which compiles the page's control")
    with pages.folder():
        done = pages.written(page)
    assert pages.stable(done.text) == pages.stable(page.read_text()), f"{TRY} {page.stem}"
    for path, figure in done.figures.items():
        assert alike(path, figure), f"{path.name} looks otherwise now; {TRY} {page.stem}"


def alike(path, figure, most=0.01):
    """True if two figures look alike: fonts and drawing libraries may differ a little, curves and words may not."""
    if path.suffix == ".svg":
        kept, made = path.read_text(), figure.decode()
        return words(kept) == words(made) and curves(kept) == pytest.approx(curves(made), rel=0.01, abs=1)
    kept, made = (np.asarray(Image.open(each).convert("L").reduce(4), float) for each in (path, pages.io.BytesIO(figure)))
    return kept.shape == made.shape and np.abs(kept - made).mean() < most * 255


def words(svg):
    """The words of a figure."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def curves(svg):
    """The number of points of each path of a figure, and the middle of its points: two numbers a path that has more than two points."""
    found = []
    for path in re.findall(r'\bd="([^"]*)"', svg):
        numbers = np.array(re.findall(r"-?\d+(?:\.\d+)?", path), float)
        if len(numbers) > 4:
            found += [len(numbers), *numbers[: len(numbers) // 2 * 2].reshape(-1, 2).mean(axis=0)]
    return found


def test_what_goes_to_machines_can_go_there(monkeypatch):
    """Booting a laboratory for it takes 15 s of CPU time; that guests obey is tested with the engine."""
    with pages.folder() as place:
        pages.written(pages.DOCS / "howto" / "own-testbed.md")
        monkeypatch.setenv("HOME", str(place))
        (place / ".ssh").mkdir()
        for keys in ("known_hosts", ".ssh/lab_ed25519"):
            (place / keys).touch(mode=0o600)
        assert "fq_codel" in pages.output("dumbbell plan bed.yaml --set engine=testbed --set 'flows.*.stack={base: host}'")
        assert list(Hosts.from_file("hosts.yaml").by_name) == ["alice", "router", "bob"]


def test_each_figure_is_of_a_page():
    shown = {
        match["image"].rpartition("/")[2] for page in pages.PAGES for match in pages.PIECE.finditer(page.read_text()) if match["image"]
    }
    kept = {path.name for folder in ("howto", "tutorial") for path in (pages.DOCS / "figures" / folder).iterdir()}
    assert kept == shown


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A function that does what a text says, and gives the text with what came of it."""
    monkeypatch.chdir(tmp_path)

    def do(text, **options):
        (tmp_path / "page.md").write_text(text)
        return pages.written(tmp_path / "page.md", **options).text

    return do


def test_output_that_is_no_longer_true_is_replaced(page):
    text = '```yaml title="a/b.yaml"\nx\n```\n\n```console\n$ cat a/b.yaml\nold\n$ cat a/*.yaml | tr x y\n```\ntail\n'
    assert page(text) == text.replace("old\n", "x\n\n").replace("y\n```", "y\ny\n```").replace("tr x y\n```", "tr x y\ny\n```")


def test_python_goes_on_where_it_ended(page):
    text = "```python\nx = 1\n```\n```python\nprint(x)\n```\n```text\n```\n"
    assert page(text) == text.replace("text\n", "text\n1\n")


def test_a_command_that_fails_is_told_with_what_it_said(page):
    with pytest.raises(RuntimeError, match=r"run none.yaml: exit status 2\n.*none.yaml"):
        page("```console\n$ dumbbell run none.yaml\n```\n")


def test_a_figure_that_is_not_made_is_no_figure(page):
    text = "<!-- figure none.png -->\n![A figure](figure.png)\n"
    with pytest.raises(FileNotFoundError):
        page(text)
    assert page(f'```console title="in a laboratory"\n$ false\n```\n{text}').endswith(text)


def test_the_first_page_is_short():
    """A visitor reads it in a minute: at most 600 words, and no table but what a command prints."""
    text = (pages.ROOT / "README.md").read_text()
    assert len(text.split()) <= 600
    assert not [line for line in text.splitlines() if line.startswith("|")]


def test_the_contributors_page_says_what_continuous_integration_does():
    page, script = (pages.ROOT / name for name in ("CONTRIBUTING.md", ".ci/run"))
    text = page.read_text()
    commands = "\n".join(line for line in script.read_text().splitlines() if not line.startswith("#"))
    installed = {
        name
        for listed in re.findall(r"^for packages in (.*?); do$", commands.replace("\\\n", " "), re.MULTILINE)
        for name in re.findall(r"[\w.-]+", listed)
    }
    assert "tshark" in installed
    assert not [name for name in installed if not re.search(rf"\b{re.escape(name)}\b", text)]
    targets = re.findall(r"^(?:\S+=\S+ )?make (\w+)", commands, re.MULTILINE)
    assert {*targets} >= {"lint", "test"}
    first, *steps = re.findall(r"^\d\. (.*)", text, re.MULTILINE)
    assert "root" in first
    assert [name for step in steps for name in re.findall(r"`make (\w+)`", step)] == targets, "in their order"
