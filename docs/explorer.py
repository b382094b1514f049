"""Explorers for the documentation: the figure of the page on the explorer, and a page of each study's results.

    python docs/explorer.py                        # the figure: examples/two-flows.yaml as a browser (Chromium, by Playwright) shows it
    python docs/explorer.py --into DIR [STUDY...]  # DIR/NAME.html for each study, at most 300 kB each
    python docs/explorer.py --pictures DIR         # pictures of these pages for the front page: docs/figures/explorers/NAME.png

If a study was reproduced in results/NAME, its page shows the existing runs. For the other studies the quick set is run into
target/explorers/NAME, one seed for each cell. It takes three minutes for all of them, and existing runs are not rerun. The quick set of
`ordering` takes ten minutes. Therefore its page shows part of it, `variance`: the five protocols whose utilisation is judged, in two
conditions; the study prints the utilisation in one of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FIGURE = ROOT / "docs" / "figures" / "explorer.png"
PICTURES = ROOT / "docs" / "figures" / "explorers"
WIDTH, HEIGHT, COLOURS = 320, 180, 16
"""Pixels and colours of a picture: the front page has several, and loads at most 300 kB."""
CHROMIUM = "/usr/bin/chromium"
STUDIES: Mapping[str, str] = {
    "sce-one-flow": "sce/one-flow",
    "sce-two-flow": "sce/two-flow",
    "oracle": "oracle",
    "teacup": "teacup",
    "fairness": "fairness",
    "ordering": "ordering",
    "l4s": "l4s",
}
"""Name of a page -> the study or the part of one that it shows."""
QUICK: Mapping[str, str] = {**STUDIES, "ordering": "ordering/variance"}
"""Name of a page -> the part whose quick set is run for it."""
LIMIT, POINTS = "300kB", 1000
"""Size of a page, and samples of a series in it: of more, the minimum and the maximum values stay."""
DUMBBELL = (sys.executable, "-m", "dumbbell")


class Page(NamedTuple):
    """A page that was made."""

    name: str
    title: str
    """Title of the study."""
    file: Path
    quick: bool
    """True if it shows the quick set of the study."""


def pages(into: Path, names: Sequence[str] = tuple(STUDIES), results: Path = ROOT / "results") -> Iterator[Page]:
    """Makes the pages of studies."""
    from dumbbell.study.registry import find_part

    into.mkdir(parents=True, exist_ok=True)
    for name in names:
        folder, part = results / name, STUDIES[name]
        quick = not (folder / "agreement.json").is_file() and not (folder / "runs").is_dir()
        if quick:
            folder, part = ROOT / "target" / "explorers" / name, QUICK[name]
            call("reproduce", part, "--quick", "--seeds", "1", "--no-figures", "--out", folder)
        file = into / f"{name}.html"
        call("view", folder, "--export", file, "--limit", LIMIT, "--points", str(POINTS))
        yield Page(name, find_part(part)[1].title, file, quick)


def call(*arguments: str | Path) -> None:
    """Runs a command of dumbbell, whose words are only shown if it fails."""
    done = subprocess.run([*DUMBBELL, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"dumbbell {' '.join(map(str, arguments))}: {done.stderr.strip()}")


def draw() -> None:
    """Draws the figure."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place:
        folder, page_file = Path(place, "first"), Path(place, "page.html")
        call("run", ROOT / "examples" / "two-flows.yaml", "--out", folder)
        call("view", folder, "--export", page_file)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 1150})
            page.goto(page_file.as_uri())
            page.wait_for_selector("body[data-ready]")
            page.locator("#runs tbody input").nth(1).check()
            page.wait_for_timeout(500)
            page.screenshot(path=FIGURE)
            browser.close()


def picture(folder: Path) -> None:
    """Takes the pictures of the pages in a folder, each of the view that compares with published numbers, if the page has it."""
    import io

    from PIL import Image
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1120, "height": 630})
        for file in sorted(folder.glob("*.html")):
            page.goto(file.as_uri())
            page.wait_for_selector("body[data-ready]")
            views = page.locator("nav button, [role=tab]")
            names = views.all_text_contents()
            views.nth(names.index("Reference") if "Reference" in names else names.index("Series")).click()
            page.wait_for_timeout(500)
            drawn = page.locator(".maps, canvas").first
            drawn.evaluate("each => window.scrollTo(0, each.getBoundingClientRect().top + window.scrollY - 70)")
            image = Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
            image.quantize(COLOURS).save(PICTURES / f"{file.stem}.png", optimize=True)
        browser.close()


def main() -> None:
    """Draws the figure, takes pictures, or makes pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", metavar="DIR", type=Path, help="make pages in this folder")
    parser.add_argument("--pictures", metavar="DIR", type=Path, help="take pictures of the pages in this folder")
    parser.add_argument("studies", metavar="STUDY", nargs="*", default=[], help=f"of these alone: {', '.join(STUDIES)}")
    asked = parser.parse_args()
    if unknown := [name for name in asked.studies if name not in STUDIES]:
        parser.error(f"{unknown[0]}: expected one of {', '.join(STUDIES)}")
    if asked.pictures is not None:
        picture(asked.pictures.resolve())
        return
    if asked.into is None:
        if asked.studies:
            parser.error("studies were given without --into; expected both")
        draw()
        return
    for page in pages(asked.into, asked.studies or tuple(STUDIES)):
        print(f"{page.file}: {page.title}{' (quick set)' if page.quick else ''}, {page.file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
