"""Draws the figure of the page on the explorer: examples/two-flows.yaml as a browser (Chromium, by Playwright) shows it.

python docs/explorer.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FIGURE = ROOT / "docs" / "figures" / "explorer.png"
CHROMIUM = "/usr/bin/chromium"


def main() -> None:
    """Draws it."""
    dumbbell = [sys.executable, "-m", "dumbbell"]
    with tempfile.TemporaryDirectory() as place:
        folder, page_file = Path(place, "first"), Path(place, "page.html")
        subprocess.run([*dumbbell, "run", ROOT / "examples" / "two-flows.yaml", "--out", folder], check=True)
        subprocess.run([*dumbbell, "view", folder, "--export", page_file], check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 1150})
            page.goto(page_file.as_uri())
            page.wait_for_selector("body[data-ready]")
            page.get_by_role("checkbox").nth(1).check()
            page.wait_for_timeout(500)
            page.screenshot(path=FIGURE)
            browser.close()


if __name__ == "__main__":
    main()
