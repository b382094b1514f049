"""The page without a pointer and without sight: axe finds nothing in any view, and keys reach what a click does."""

import pytest
from explorer import stores
from required import missing

from dumbbell.explorer.capture import Capture
from dumbbell.explorer.export import export
from dumbbell.explorer.runs import Runs
from dumbbell.explorer.server import Site
from dumbbell.explorer.several import Several

ROOMS = [("light", 1280, 900), ("dark", 1280, 900), ("light", 390, 844)]
"""Colour scheme and size: a desk, a desk at night, a phone."""


@pytest.fixture(scope="module")
def axe():
    """The script of axe-core."""
    from importlib.resources import files

    try:
        return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError as error:
        missing("browser", error)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of a sweep with several seeds and kinds of traffic, of a capture, of two folders, and of a study with published numbers."""
    place = tmp_path_factory.mktemp("pages")
    stores.small(
        place / "sweep",
        background=[{"kind": "ping", "interval": "100ms"}, {"kind": "voip", "name": "call"}],
        flows=[{"cc": "cubic", "name": "one", "count": 2, "start": {"jitter": "100ms"}}],
        duration="2s",
        repeat=2,
        sweep={"path.bottleneck.qdisc": ["fq_codel", "cake"], "path.rtt": ["10ms", "40ms"]},
    )
    (run,) = stores.small(place / "captured", capture=True, duration="1s")
    stores.sweep(place / "study")
    document, _ = stores.compared(place / "study")
    study = {"title": "A study", "source": "A. Author, A Journal, 2026"}
    found = {
        "sweep": Runs(place / "sweep", "sweep"),
        "capture": Capture(run.captures["left.pcap"], "left.pcap"),
        "several": Several({name: Runs(place / name, name) for name in ("captured", "study")}),
        "study": Runs(place / "study", "study", lambda: document, study),
    }
    for name, collection in found.items():
        (place / f"{name}.html").write_bytes(export(collection).content)
    return {"folder": place / "sweep", **{name: (place / f"{name}.html").as_uri() for name in found}}


def findings(page, axe):
    """The rules that a page breaks, with the first element that does."""
    page.evaluate(axe)
    return page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations.map((each) => [each.id, each.nodes[0].html]))"
    )


def findings_by_view(page, axe):
    """The findings of each view of a page, with all rows and menus open, of suggestions, of an empty table, and of the keys."""
    found = {}
    for tab in page.locator("#tabs button").evaluate_all("found => found.map((each) => each.id)"):
        page.click(f"#{tab}")
        page.wait_for_function("() => !document.querySelector('#view').hasAttribute('aria-busy')")
        page.evaluate("document.querySelector('#runs .opener[aria-expanded=false]')?.click()")
        page.evaluate("document.querySelectorAll('details.menu').forEach((each) => (each.open = true))")
        found[tab] = findings(page, axe)
        page.keyboard.press("Escape")
        assert page.locator("details.menu[open]").count() == 0
    page.locator("#filter").focus()
    found["suggestions"] = findings(page, axe)
    page.locator("#filter").fill("nothing=1")
    found["nothing"] = findings(page, axe)
    page.locator("#filter").fill("")
    page.get_by_role("button", name="Keys").click()
    found["keys"] = findings(page, axe)
    return {place: faults for place, faults in found.items() if faults}


@pytest.mark.parametrize("name", ["sweep", "capture", "several", "study"])
@pytest.mark.parametrize(("scheme", "width", "height"), ROOMS)
def test_axe_finds_nothing(opened, pages, axe, name, scheme, width, height):
    page = opened(pages[name], color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": height})
    assert findings_by_view(page, axe) == {}
    assert page.faults == []


@pytest.mark.parametrize(("scheme", "width", "height"), ROOMS)
def test_axe_finds_nothing_in_a_served_page(opened, serving, pages, axe, scheme, width, height):
    """A served page takes runs from its server, and offers what a file cannot: commands, and runs selected at once."""
    with serving(Site(Runs(pages["folder"], "sweep"), "sweep")) as server:
        page = opened(server.address, online=True, color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        page.get_by_role("button", name="Select all").click()
        page.wait_for_function("() => document.querySelectorAll('#view progress').length === 0")
        assert findings_by_view(page, axe) == {}
        assert page.faults == []


def test_the_marks_of_the_overview_are_reached_and_pressed_by_keys(opened, pages):
    page = opened(pages["sweep"])
    marks = page.locator("svg").first.locator(".mark")
    assert marks.count() == 4
    page.locator("#tab-overview").focus()
    page.keyboard.press("Tab")
    assert marks.first.evaluate("each => each === document.activeElement")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert marks.nth(2).evaluate("each => each === document.activeElement")
    label = marks.nth(2).get_attribute("aria-label")
    assert label.startswith("cake · ")
    assert "Mbit/s" in label
    page.keyboard.press("Tab")
    assert page.locator("svg").nth(1).locator(".mark").first.evaluate("each => each === document.activeElement")
    page.keyboard.press("Shift+Tab")
    assert marks.nth(2).evaluate("each => each === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel")
    assert page.locator("#tab-series").get_attribute("aria-selected") == "true"
    assert page.locator("#runs tr.ticked td").nth(1).inner_text() == "cake"
    assert page.faults == []


def test_the_cells_of_a_map_are_reached_and_pressed_by_keys(opened, pages):
    page = opened(f"{pages['sweep']}#tab=sweep")
    cells = page.locator(".map td button")
    assert cells.count() == 4
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert cells.nth(3).evaluate("each => each === document.activeElement")
    page.keyboard.press("ArrowLeft")
    assert cells.nth(2).evaluate("each => each === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel")
    assert page.faults == []
