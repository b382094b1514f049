"""Look of the page where there is little room, and its first view when it is opened."""

import re
from itertools import pairwise

import pytest
from explorer import stores

from dumbbell.exchange.imported import runs_of
from dumbbell.explorer.capture import Capture
from dumbbell.explorer.export import export
from dumbbell.explorer.runs import Runs
from dumbbell.explorer.server import Site
from dumbbell.explorer.several import Several

TABS = ("series", "statistics", "sweep", "details")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder without series, one of a sweep, one of the same sweep with other flows, and one of another sweep."""
    place = tmp_path_factory.mktemp("folders")
    sweep = {"path.rtt": ["10ms", "20ms", "40ms"], "path.bottleneck.rate": ["5mbit", "10mbit"]}
    stores.small(place / "bare", series={"flows": "none", "ports": "none"})
    stores.small(place / "one", sweep=sweep)
    stores.small(place / "two", sweep=sweep, flows=[{"cc": "reno", "name": "one"}])
    stores.small(place / "other", sweep={"flows.0.cc": ["bbr", "cubic"], "duration": ["2s", "4s"]})
    return place


@pytest.fixture
def several(folders, opened, tmp_path):
    """A function that opens a page of some of these folders."""

    def open_(*names, fragment=""):
        file = tmp_path / "page.html"
        file.write_bytes(export(Several({name: Runs(folders / name, name) for name in names})).content)
        return opened(f"{file.as_uri()}{fragment}")

    return open_


@pytest.mark.parametrize("names", [("bare", "one", "other"), ("other", "one", "two"), ("bare", "other")])
def test_several_folders_begin_with_something_to_see(several, names):
    page = several(*names)
    assert page.locator(".dots .mark").count() >= 4
    page.click("#tab-series")
    page.wait_for_selector(".panel")
    assert page.locator(".panel").count() == 5
    page.click("#tab-sweep")
    page.wait_for_selector(".map")
    assert page.locator(".map td button").count() >= 4
    assert page.faults == []


def test_the_same_run_of_two_folders_is_drawn_at_first_and_their_sweeps_stand_beside_each_other(several):
    page = several("one", "two", fragment="#tab=series")
    assert page.locator("#runs tr.ticked").count() == 2
    assert page.locator(".panels .chip").first.inner_text().startswith("folder one")
    page.click("#tab-sweep")
    page.wait_for_selector(".map")
    assert page.locator(".map").count() == 3
    assert [page.locator(".map").nth(i).locator("button").count() for i in range(3)] == [6, 6, 6]
    page.get_by_label("Compare with").select_option("")
    assert page.locator(".map").count() == 1


def test_a_slider_leads_to_runs_that_are_there(several):
    page = several("one", "other", fragment="#tab=sweep")
    slider = page.get_by_role("slider").first
    assert page.locator(".map td button").count() == 6
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelectorAll('.map td button').length === 4")


@pytest.mark.parametrize("width", [420, 900, 1300, 1900])
def test_nothing_is_wider_than_the_page(browser, made, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    for tab in TABS:
        page.goto(f"{made('sweep')[1].as_uri()}#tab={tab}")
        page.reload()
        page.wait_for_selector("body[data-ready]")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        # A part that is cut fades, and can be scrolled to.
        frames = page.locator(".frame").evaluate_all(
            "found => found.map(({ firstChild: each, classList: classes }) => "
            "[each.scrollWidth > each.clientWidth + 1, classes.contains('beyond')])"
        )
        assert all(cut == faded for cut, faded in frames)
        assert width < 1300 or tab != "series" or not frames[0][0]
    context.close()


def test_ticks_of_graphs_are_round_numbers(made, opened):
    page = opened(f"{made('small')[1].as_uri()}#tab=statistics")
    for graph in range(page.locator(".graph svg").count()):
        for side in ("middle", "end"):
            texts = page.locator(".graph svg").nth(graph).locator(f'text[text-anchor="{side}"]').all_text_contents()
            numbers = sorted(float(each) for each in texts if re.fullmatch(r"[\d.]+", each))
            steps = {f"{after - before:.6g}" for before, after in pairwise(numbers)}
            assert len(steps) == 1
            assert steps.pop().strip("0.") in ("1", "2", "5")


def test_flows_of_an_unknown_control_have_colours_and_rates_of_few_samples_are_drawn(opened, tmp_path):
    golden = tmp_path / "golden.csv"
    rows = [f"{t},flow/{name},rx_bytes,{t * 1e6:.0f}" for name in ("a", "b") for t in (0, 0.5, 1, 1.5, 2)]
    golden.write_text("\n".join(["t_s,entity,series,value", *rows]))
    stores.stored(tmp_path / "runs", *runs_of([golden], None))
    (tmp_path / "page.html").write_bytes(export(Runs(tmp_path / "runs", "imports")).content)
    page = opened((tmp_path / "page.html").as_uri())
    chips = page.locator(".panels .chip")
    assert [each.strip() for each in chips.all_inner_texts()] == ["a", "b"]
    colours = chips.locator("line").evaluate_all("found => found.map(each => each.getAttribute('stroke'))")
    assert len(set(colours)) == 2
    assert "500 ms" in page.locator('[data-panel="rx_bytes"] figcaption').inner_text()
    assert page.evaluate("dumbbell.statistics(0, 2)")[0]["rows"][0]["goodput"] == pytest.approx(8)


def test_flows_one_after_another_are_not_added_up_as_if_they_were_at_once(opened, tmp_path):
    golden = tmp_path / "golden.csv"
    rows = [f"{t + start},flow/{name},rx_bytes,{t * 1e6:.0f}" for name, start in (("a", 0), ("b", 1)) for t in (0, 0.5, 1)]
    golden.write_text("\n".join(["t_s,entity,series,value", *rows]))
    stores.stored(tmp_path / "runs", *runs_of([golden], None))
    (tmp_path / "page.html").write_bytes(export(Runs(tmp_path / "runs", "imports")).content)
    (found,) = opened((tmp_path / "page.html").as_uri()).evaluate("dumbbell.statistics(0, 2)")
    assert [row["goodput"] for row in found["rows"]] == pytest.approx([8, 8])
    assert found["total"] == pytest.approx(8)


def test_a_sweep_that_is_running_is_followed_and_a_note_goes_with_the_address(opened, tmp_path, serving):
    folder = tmp_path / "runs"
    stores.small(folder, sweep={"path.rtt": ["10ms", "20ms"]})
    with serving(Site(Runs(folder, "runs"), "runs")) as server:
        page = opened(server.address, online=True)
        page.get_by_role("button", name="Follow").click()
        stores.small(folder, sweep={"path.rtt": ["10ms", "20ms", "40ms"]})
        page.wait_for_function("() => document.querySelector('#summary').textContent === '3 runs'")
        assert page.locator("#runs tbody tr").count() == 3
        page.get_by_text("Note", exact=True).click()
        page.get_by_label("Note, kept").fill("look at <b>this</b>")
        assert page.locator("#note").text_content() == "look at <b>this</b>"
        page.reload()
        page.wait_for_selector("body[data-ready]")
        assert page.locator("#note").text_content() == "look at <b>this</b>"
        assert page.faults == []


def test_panels_are_as_wide_as_paper_where_they_are_printed(made, opened):
    page = opened(made("small")[1].as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".uplot").first.bounding_box()["width"] == 680
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".uplot").first.bounding_box()["width"] > 1000


def test_a_capture_begins_with_the_connection_that_carried_most(opened, tmp_path):
    flows = [{"cc": "cubic", "name": "one", "bytes": "3kB"}, {"cc": "reno", "name": "two", "start": "500ms"}]
    (run,) = stores.small(tmp_path / "runs", flows=flows, capture=True)
    (tmp_path / "page.html").write_bytes(export(Capture(run.captures["left.pcap"], "left.pcap")).content)
    page = opened((tmp_path / "page.html").as_uri())
    assert page.locator("#runs tr.ticked").get_attribute("aria-rowindex") == "2"
