"""The overview, and the table whose rows are cells: what is said, counted, filtered and chosen."""

import shlex

import pytest
from explorer import stores

from dumbbell.comparing.across.answer import written
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.estimates import estimate
from dumbbell.comparing.across.sentence import sentence_of
from dumbbell.explorer.export import export
from dumbbell.explorer.runs import Runs

SWEEP = {
    "background": [{"kind": "ping", "interval": "100ms"}],
    "flows": [{"cc": "cubic", "name": "one", "start": {"jitter": "100ms"}}],
    "duration": "2s",
    "repeat": 3,
    "sweep": {
        "zip": {
            "path.bottleneck.qdisc": [{"kind": "pfifo", "limit": "300p"}, "fq_codel"],
            "path.reverse.qdisc": [{"kind": "pfifo", "limit": "300p"}, "fq_codel"],
        },
        "path.rtt": ["10ms", "40ms"],
    },
}


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """The runs of a sweep over two zipped keys and the RTT, three seeds each, and their page."""
    folder = tmp_path_factory.mktemp("repeated") / "runs"
    changes = {
        **SWEEP,
        "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}, "reverse": {"rate": "2mbit", "qdisc": "fq_codel"}},
    }
    runs = stores.small(folder, **changes)
    file = folder.parent / "page.html"
    file.write_bytes(export(Runs(folder, "runs")).content)
    return runs.runs, file


def test_the_overview_says_what_the_summary_says_and_has_each_cell_with_its_mean(repeated, opened):
    runs, file = repeated
    page = opened(file.as_uri())
    assert page.locator("#tab-overview").get_attribute("aria-selected") == "true"
    assert page.locator(".sentence").inner_text() == sentence_of([RunSet("runs", runs)])
    pings = page.locator('figure:has(figcaption:text("ping (ms)")) .mark').evaluate_all(
        "found => found.map(each => Number(each.dataset.value))"
    )
    cells = {}
    for run in runs:
        cells.setdefault((run.cell["path.bottleneck.qdisc"], run.cell["path.rtt"]), []).append(
            run.summary.datagrams["ping"]["rtt_median_ms"]
        )
    assert pings == pytest.approx([estimate(values, "mean").centre for values in cells.values()], rel=1e-12)
    assert page.faults == []
    page.locator(".mark").first.click()
    page.wait_for_selector(".panel")
    assert page.locator("#runs tr.ticked").count() == 1


def test_rows_are_cells_that_open_to_their_runs_with_the_intervals_of_the_table(repeated, opened):
    runs, file = repeated
    page = opened(file.as_uri())
    assert page.locator("#runs .bar .note").inner_text() == "12 runs in 4 cells"
    rows = page.locator("#runs tbody tr")
    assert rows.count() == 4
    values = estimate([run.summary.run["goodput_mbit"] for run in runs[:3]], "mean")
    assert written(values).replace("±", " ±") in rows.first.inner_text().split("\t")
    rows.first.locator(".opener").click()
    assert rows.count() == 7
    assert page.locator("#runs tr.inside").count() == 3
    rows.first.locator("input").click()
    page.wait_for_function("() => document.querySelectorAll('#runs tr.ticked').length === 4")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert rows.count() == 7


def test_a_page_says_what_it_is_and_opens_where_it_was_told(repeated, opened, dumbbell, tmp_path):
    file = tmp_path / "page.html"
    options = ["--title", "Which <b>AQM</b>?", "--abstract", "A home line.", "--tab", "sweep"]
    assert dumbbell("view", repeated[1].parent / "runs", "--export", file, *options).status == 0
    page = opened(file.as_uri())
    assert page.locator("h1").inner_text() == "Which <b>AQM</b>?"
    assert page.title() == "Which <b>AQM</b>? · dumbbell"
    assert page.locator("#about").inner_text() == "A home line."
    assert page.locator("#tab-sweep").get_attribute("aria-selected") == "true"


def test_drops_are_events_and_values_have_a_logarithmic_axis(made, opened):
    page = opened(made("small")[1].as_uri())
    assert page.evaluate("dumbbell.events().dropped.length") > 0
    assert "red ticks" in page.locator(".panels > .note").inner_text()
    reds = """() => {
      const canvas = document.querySelector('[data-panel="cwnd"] canvas');
      const data = canvas.getContext('2d').getImageData(0, canvas.height - 40, canvas.width, 20).data;
      let count = 0;
      for (let i = 0; i < data.length; i += 4) count += Math.abs(data[i] - 0xd5) < 9 && Math.abs(data[i + 1] - 0x5e) < 9 && data[i + 2] < 9;
      return count;
    }"""
    assert page.evaluate(reds) >= 4
    page.get_by_label("log axis").check()
    page.wait_for_function("() => location.hash.includes('log=1')")
    page.wait_for_function("() => dumbbell.panels().length === 5")
    assert page.faults == []


@pytest.mark.parametrize("tab", ["overview", "series"])
def test_the_command_of_a_figure_draws_it(repeated, opened, dumbbell, tmp_path, tab):
    page = opened(f"{repeated[1].as_uri()}#tab={tab}", permissions=["clipboard-read", "clipboard-write"])
    if tab == "series":
        page.get_by_text("Save", exact=True).click()
    page.get_by_role("button", name="Copy command of this figure").click()
    _, *words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert words[:2] == ["plot", "results/runs"]
    words[1] = str(repeated[1].parent / "runs")
    answer = dumbbell(*words, "--out", tmp_path / "figures")
    assert answer.status == 0, answer.err


def test_zipped_keys_are_one_axis(repeated, opened):
    page = opened(repeated[1].as_uri())
    assert page.locator(".facet").evaluate_all("found => found.map(each => each.getAttribute('aria-label'))") == ["rtt", "qdisc"]
    page.click("#tab-sweep")
    assert page.locator(".map td button").count() == 4


def test_a_filter_finds_values_by_their_first_word_by_a_click_and_by_suggestion(repeated, opened):
    page = opened(repeated[1].as_uri())
    note = page.locator("#runs .bar .note")
    page.fill("#filter", "bottleneck.qdisc=pfifo rtt=10ms")
    assert note.inner_text() == "3 of 12 runs in 1 cell"
    page.fill("#filter", "ping>=1000s")
    assert note.inner_text() == "0 of 12 runs"
    assert page.get_by_role("button", name="Select all").is_disabled()
    page.get_by_role("button", name="Clear the filter").click()
    page.get_by_role("button", name="fq_codel", exact=True).click()
    assert note.inner_text() == "6 of 12 runs in 2 cells"
    page.get_by_role("button", name="fq_codel", exact=True).click()
    page.locator("#filter").press_sequentially("rt")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#filter").input_value() == "rtt="
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#filter").input_value() == "rtt=40ms "
    assert note.inner_text() == "6 of 12 runs in 2 cells"


def test_a_whole_value_is_not_taken_for_the_first_word_of_others(opened, tmp_path):
    queues = [{"kind": "fq_codel"}, {"kind": "fq_codel", "limit": "500p"}]
    stores.small(tmp_path / "runs", duration="1s", sweep={"path.bottleneck.qdisc": queues})
    (tmp_path / "page.html").write_bytes(export(Runs(tmp_path / "runs", "runs")).content)
    page = opened((tmp_path / "page.html").as_uri())
    page.locator(".facet button").first.click()
    assert page.locator("#runs .bar .note").inner_text() == "1 of 2 runs"


def test_the_table_has_no_column_that_says_nothing_and_names_each_axis_once(repeated, opened):
    page = opened(repeated[1].as_uri())
    heads = [each.strip() for each in page.locator("#runs thead th").all_inner_texts()]
    assert heads[1:4] == ["rtt", "bottleneck.qdisc", "goodput (Mbit/s)"]
    assert not {"cc", "reverse.qdisc"} & set(heads)


def test_every_metric_can_be_a_column(repeated, opened):
    page = opened(repeated[1].as_uri())
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name="ping: 95th percentile of one-way delay (ms)").check()
    page.wait_for_selector('#runs thead button:text("ping: 95th percentile of one-way delay (ms)")')
    page.get_by_role("checkbox", name="goodput (Mbit/s)", exact=True).uncheck()
    assert page.locator('#runs thead button:text-is("goodput (Mbit/s)")').count() == 0
    assert "columns=" in page.evaluate("location.hash")
