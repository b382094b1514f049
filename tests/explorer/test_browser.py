"""The page in a browser: what it shows, how it is used, and that it loads and runs nothing from elsewhere."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from explorer import stores

from dumbbell import metrics
from dumbbell.escaping import csv_cell
from dumbbell.explorer.export import Extent, export
from dumbbell.explorer.runs import Runs
from dumbbell.explorer.server import Site
from dumbbell.metrics.window import at
from dumbbell.results import Block, load

ALL_SERIES = """async () => {
  const found = [];
  for (const key of KEYS)
    for (const entry of (await dumbbell.detail(key)).series)
      if (!entry.left_out) found.push([key, entry.entity, entry.name]);
  return found;
}"""


def values(page, asked):
    """The values that the page has of (key, entity, name, time)."""
    return page.evaluate("asked => Promise.all(asked.map(each => dumbbell.value(...each)))", asked)


def plot(page, name="cwnd"):
    """The box of the plot of a panel."""
    return page.locator(f'[data-panel="{name}"] .u-over').bounding_box()


def test_a_page_from_a_file_asks_for_nothing_and_complains_of_nothing(made, opened):
    page = opened(made("small")[1].as_uri())
    assert page.locator(".panel").count() == 5
    for tab in ("statistics", "details", "series"):
        page.click(f"#tab-{tab}")
        page.wait_for_function("() => !document.querySelector('#view').hasAttribute('aria-busy')")
    assert (len(page.requests), page.faults) == (1, [])
    with pytest.raises(Exception, match=r"Content Security Policy|Failed to fetch|Refused"):
        page.evaluate("fetch('http://127.0.0.1:1/')")


def test_values_are_those_of_the_store_to_the_last_bit(made, opened):
    folder, file = made("small")
    page = opened(file.as_uri())
    runs = {run.key: run for run in load(folder)}
    listed = page.evaluate(ALL_SERIES.replace("KEYS", json.dumps(list(runs))))
    assert len(listed) > 20
    asked, expected = [], []
    for key, entity, name in listed:
        t_s, of = runs[key].series(entity, name)
        for i in np.linspace(0, len(of) - 1, 20).astype(int):
            asked.append([key, entity, name, float(t_s[i])])
            expected.append((float(t_s[i]).hex(), float(of[i]).hex()))
    assert [(each["t"], each["value"]) for each in values(page, asked)] == [tuple(map(float.fromhex, each)) for each in expected]


def test_a_spike_of_one_sample_in_a_million_is_seen_with_the_whole_time_shown(made, opened):
    page = opened(made("spike")[1].as_uri())
    coloured = page.evaluate(
        """() => {
          const canvas = document.querySelector('[data-panel="cwnd"] canvas');
          const { width, height } = canvas;
          const at = Math.round((58 + (width - 68) * 0.637421));
          const data = canvas.getContext('2d').getImageData(at - 2, 12, 5, 10).data;
          let count = 0;
          for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 100 && data[i] < 60 && data[i + 2] > 120) count++;
          return count;
        }"""
    )
    assert coloured >= 8
    assert page.faults == []


def test_dragging_zooms_all_panels_and_the_address_keeps_it(made, opened):
    page = opened(made("small")[1].as_uri())
    whole = page.evaluate("dumbbell.range()")
    box = plot(page, "rx_bytes")
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 50, steps=4)
    page.mouse.up()
    shown = page.evaluate("dumbbell.range()")
    assert shown == pytest.approx([whole[0] + share * (whole[1] - whole[0]) for share in (0.2, 0.6)], abs=0.01)
    assert [each[1:] for each in page.evaluate("dumbbell.panels()")] == [shown] * 5
    address = page.evaluate("location.hash")
    assert "x=" in address
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("dumbbell.range()") == pytest.approx(shown)
    assert page.evaluate("location.hash") == address
    box = plot(page, "rx_bytes")
    page.mouse.dblclick(box["x"] + 100, box["y"] + 50)
    assert page.evaluate("dumbbell.range()") == whole


def test_keys_zoom_move_and_go_back(made, opened):
    page = opened(made("small")[1].as_uri())
    first, last = page.evaluate("dumbbell.range()")
    page.keyboard.press("w")
    nearer = page.evaluate("dumbbell.range()")
    assert nearer[1] - nearer[0] == pytest.approx(0.75 * (last - first))
    page.keyboard.press("d")
    assert page.evaluate("dumbbell.range()")[0] > nearer[0]
    page.keyboard.press("0")
    assert page.evaluate("dumbbell.range()") == [first, last]
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.clock').textContent.startsWith('t = ')")
    assert page.locator(".values output").first.text_content()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"


def test_a_heat_map_has_the_numbers_of_the_table_and_leads_to_a_run_that_can_be_made_again(made, opened, dumbbell, tmp_path):
    folder, file = made("sweep")
    page = opened(f"{file.as_uri()}#tab=sweep", permissions=["clipboard-read", "clipboard-write"])
    cells = page.locator(".map td button")
    assert cells.count() == 12
    rows = json.loads(dumbbell("table", folder, "--runs", "--json").out)["rows"]
    columns = [name for name, value in rows[0].items() if isinstance(value, float) and name != "flows"]
    shown = cells.evaluate_all("found => found.map(each => Number(each.dataset.value))")
    assert sorted(f"{value:.6g}" for value in shown) == sorted(f"{row[columns[0]]:.6g}" for row in rows)
    key = cells.nth(7).get_attribute("data-key")
    cells.nth(7).click()
    page.wait_for_selector(".panel")
    assert page.evaluate("new URLSearchParams(location.hash.slice(1)).get('runs')") == key[:10]
    assert page.locator(".panel").count() == 5
    page.click("#tab-details")
    page.get_by_role("button", name="Copy command of this run").click()
    command = page.evaluate("navigator.clipboard.readText()")
    script = command.replace("dumbbell run", f"{sys.executable} -m dumbbell run")
    subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [path.name for path in (tmp_path / "results").glob("*/*") if len(path.name) == 32] == [key]


def test_names_are_shown_and_never_run(made, opened):
    page = opened(made("hostile")[1].as_uri())
    for tab in ("sweep", "statistics", "details", "series"):
        page.click(f"#tab-{tab}")
        page.wait_for_function("() => !document.querySelector('#view').hasAttribute('aria-busy')")
        assert stores.HOSTILE in page.locator("main").inner_text()
    page.get_by_role("button", name="Select all").click()
    page.wait_for_function("() => document.querySelectorAll('#runs tr.ticked').length === 2")
    assert page.locator("img, main script").count() == 0
    assert page.faults == []
    assert len(page.requests) == 1


def test_five_thousand_runs_are_filtered_and_only_those_in_sight_are_in_the_document(opened, tmp_path):
    file = tmp_path / "many.html"
    file.write_bytes(export(stores.Listed(5000)).content)
    page = opened(file.as_uri())
    assert page.locator("#runs tbody tr").count() < 60
    page.fill("#filter", "cc=cubic rtt>=480ms")
    assert page.locator("#runs .note").text_content() == "100 of 5000 runs"
    page.fill("#filter", "nonsense=1")
    assert "unknown: nonsense" in page.locator("#runs .note").text_content()
    page.fill("#filter", "")
    page.evaluate("document.querySelector('#runs .scroll').scrollTop = 1e6")
    page.wait_for_selector('tr[aria-rowindex="5000"]')
    assert page.locator("#runs tbody tr").count() < 60


def test_the_table_is_used_by_keys_alone(made, opened):
    page = opened(made("sweep")[1].as_uri())
    page.locator("#runs tbody input").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelectorAll('#runs tr.ticked').length === 2")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#runs tr.ticked').length === 1")
    assert page.locator("#runs tr.ticked").get_attribute("aria-rowindex") == "3"


def test_the_focus_and_open_menus_stay_when_panels_are_drawn_anew(made, opened):
    page = opened(made("small")[1].as_uri())
    count = page.locator(".panel").count()
    page.locator("summary", has_text="Panels").click()
    page.get_by_role("checkbox", name="queue (packets)").press("Space")
    page.wait_for_function("count => document.querySelectorAll('.panel').length < count", arg=count)
    page.wait_for_function("() => document.activeElement.closest('label')?.textContent === 'queue (packets)'")
    page.keyboard.press("Space")
    page.wait_for_function("count => document.querySelectorAll('.panel').length === count", arg=count)
    chip = page.locator(".panels > .chips .chip").first
    chip.press("Enter")
    page.wait_for_selector('.panels .chip[aria-pressed="true"]')
    page.wait_for_function("() => document.activeElement.matches('.panels .chip[aria-pressed=\"true\"]')")
    page.locator("#tab-details").press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'tab-details'")
    assert page.faults == []


def test_a_range_comes_to_what_the_metrics_say(made, opened):
    folder, file = made("small")
    page = opened(file.as_uri())
    (run,) = load(folder)
    (found,) = page.evaluate("dumbbell.statistics(0.7, 2.3)")
    rates = []
    for name in ("one", "two"):
        row = next(each for each in found["rows"] if each["entity"] == f"flow/{name}")
        rates.append(metrics.throughput_mbit(run.series(f"flow/{name}", "rx_bytes"), 0.7, 2.3))
        assert row["goodput"] == pytest.approx(rates[-1], rel=1e-9)
        for series in ("srtt_ms", "rtt_ms", "cwnd"):
            of = run.series(f"flow/{name}", series)
            expected = [metrics.mean(of, 0.7, 2.3), *(metrics.percentile(of, q, 0.7, 2.3) for q in (5, 95))]
            assert [row[series][which] for which in ("mean", "p5", "p95")] == pytest.approx(expected, rel=1e-9)
        again = run.series(f"flow/{name}", "retransmits")
        assert row["retransmits"] == at(again, 2.3)[1] - at(again, 0.7)[1]
    assert found["jain"] == pytest.approx(metrics.jain(rates), rel=1e-9)


def test_plots_are_as_large_as_the_page_and_have_the_colours_of_figures(made, opened):
    page = opened(made("small")[1].as_uri())
    box = plot(page)
    assert box["width"] > 1000
    assert 100 < box["height"] < 200
    count = page.evaluate(
        """() => {
          const canvas = document.querySelector('[data-panel="cwnd"] canvas');
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          const near = (at, rgb) => rgb.every((value, i) => Math.abs(data[at + i] - value) < 12);
          let count = [0, 0];
          for (let i = 0; i < data.length; i += 4) [[0x00, 0x72, 0xb2], [0xd5, 0x5e, 0x00]].forEach((rgb, j) => (count[j] += near(i, rgb)));
          return count;
        }"""
    )
    assert min(count) > 500


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(made, opened, scheme):
    page = opened(made("small")[1].as_uri(), color_scheme=scheme)
    pairs = [("--ink", "--paper"), ("--soft", "--paper"), ("--soft", "--raised"), ("--accent", "--paper"), ("--ink", "--chosen")]
    pairs += [(f"--{name}", paper) for name in ("good", "warn", "bad") for paper in ("--paper", "--chosen")]
    found = page.evaluate(
        """pairs => {
          const style = getComputedStyle(document.documentElement);
          return pairs.map((pair) => dumbbell.contrast(...pair.map((name) => style.getPropertyValue(name).trim())));
        }""",
        pairs,
    )
    assert {pair: ratio for pair, ratio in zip(pairs, found, strict=True) if ratio < 4.5} == {}


def test_a_served_page_shows_the_same_and_the_packets_of_captures(opened, tmp_path, serving):
    folder = tmp_path / "captured"
    (run,) = stores.small(folder, capture=True)
    with serving(Site(Runs(folder, "captured"), "captured")) as server:
        page = opened(server.address, online=True)
        t_s, of = run.series("flow/one", "srtt_ms")
        (found,) = values(page, [[run.key, "flow/one", "srtt_ms", float(t_s[30])]])
        assert found == {"t": t_s[30], "value": of[30]}
        page.click("#tab-details")
        page.get_by_role("button", name="Show its connections").first.click()
        page.wait_for_selector('[data-panel="sequence"]')
        assert page.locator("#runs tbody tr").count() == 2
        assert page.faults == []
        assert all(address.startswith(f"http://127.0.0.1:{server.server_port}/") for address in page.requests)


def test_many_runs_are_selected_and_drawn_by_one_request(opened, tmp_path, serving):
    folder = tmp_path / "many"
    stores.small(folder, duration="1s", sweep={"path.rtt": [f"{10 + i}ms" for i in range(60)]})
    with serving(Site(Runs(folder, "many"), "many")) as server:
        page = opened(server.address, online=True)
        page.requests.clear()
        page.get_by_role("button", name="Select all").click()
        page.wait_for_function("() => document.querySelectorAll('#view progress').length === 0 && dumbbell.drawn('cwnd') === 120")
        assert len(page.requests) == 1
        assert page.evaluate("new URLSearchParams(location.hash.slice(1)).get('runs').split(' ').length") == 60
        assert page.faults == []


def test_reduced_series_say_so(opened, tmp_path, made):
    folder, _ = made("spike")
    file = tmp_path / "reduced.html"
    file.write_bytes(export(Runs(folder, "spike"), replace(Extent(), points=1000)).content)
    page = opened(file.as_uri())
    assert page.locator('[data-panel="cwnd"] .note').text_content() == "a series reduced to minimum and maximum values"
    assert page.evaluate("of => dumbbell.samples(...of)", [Runs(folder, "").keys()[0], "flow/one", "cwnd"]) <= 1000


def test_the_store_is_read_as_polars_reads_it(made):
    folder, _ = made("small")
    (run,) = load(folder)
    found = {(entity, name): samples for entity, name, samples in Runs(folder, "small").series(run.key)}
    for (entity, name), rows in run.frame.partition_by("entity", "series", as_dict=True).items():
        assert np.array_equal(found[entity, name][0], rows["t_ns"].to_numpy())
        assert rows["value"].equals(pl.Series("value", found[entity, name][1]))


def test_a_long_series_is_served_reduced_and_exactly_where_it_is_zoomed(made, opened, serving):
    folder, _ = made("spike")
    (run,) = load(folder)
    with serving(Site(Runs(folder, "spike"), "spike")) as server:
        page = opened(server.address, online=True)
        note = page.locator('[data-panel="cwnd"] .note')
        assert note.text_content() == "a series reduced to minimum and maximum values"
        page.evaluate("dumbbell.show(637, 638)")
        note.wait_for(state="detached")
        (found,) = values(page, [[run.key, "flow/one", "cwnd", 637.4215]])
        assert found == {"t": 637.421, "value": 100.0}
        assert page.evaluate("dumbbell.statistics(637, 638)")[0]["rows"][0]["cwnd"]["mean"] == pytest.approx(10 + 90 / 1001, rel=1e-12)
        assert page.faults == []


def test_another_value_stands_beside_a_sweep_with_the_difference(opened, tmp_path):
    folder, file = tmp_path / "runs", tmp_path / "page.html"
    changes = {"path.rtt": ["10ms", "20ms", "40ms"], "path.bottleneck.rate": ["5mbit", "10mbit"], "flows.0.cc": ["cubic", "reno"]}
    runs = stores.small(folder, sweep=changes)
    file.write_bytes(export(Runs(folder, "three")).content)
    page = opened(f"{file.as_uri()}#tab=sweep")
    page.get_by_label("Metric").select_option("retransmits")
    page.get_by_label("Compare with").select_option("flows.0.cc")
    assert page.locator(".map").count() == 3
    shown = page.locator(".map").nth(2).locator("button").evaluate_all("found => found.map(each => Number(each.dataset.value))")
    by_cell = {tuple(run.cell.values()): run.summary.run["retransmits"] for run in runs}
    pairs = [(rate, rtt) for rate in changes["path.bottleneck.rate"] for rtt in changes["path.rtt"]]
    assert shown == [by_cell[rtt, rate, "cubic"] - by_cell[rtt, rate, "reno"] for rate, rtt in pairs]


def test_runs_of_a_group_are_a_median_in_a_band(made, opened):
    page = opened(made("sweep")[1].as_uri())
    page.get_by_role("button", name="Select all").click()
    page.get_by_label("Draw").select_option("path.bottleneck.rate")
    page.wait_for_function("() => document.querySelector('.panels .chip')?.textContent.includes('median and range of 6')")
    assert page.locator(".panels > .chips .chip").count() == 6
    assert page.faults == []


def test_two_runs_are_told_apart(made, opened):
    page = opened(f"{made('sweep')[1].as_uri()}#tab=details")
    page.get_by_label("Differences from").select_option(index=1)
    page.wait_for_selector(".added")
    changed = page.locator(".added, .removed").all_inner_texts()
    assert [line.strip() for line in changed] == ['-     rate: "10mbit"', '+     rate: "5mbit"']


SAVED = {"PNG of the view": b"\x89PNG", "SVG of the view": b"<svg", "CSV of the samples shown": b"run,"}


@pytest.mark.parametrize(("what", "begins"), SAVED.items())
def test_what_is_shown_is_saved(made, opened, what, begins):
    folder, file = made("small")
    page = opened(file.as_uri())
    page.get_by_text("Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name=what).click()
    content = saved.value.path().read_bytes()
    assert content.startswith(begins)
    if begins == b"<svg":
        assert content.count(b"<path") == 9
    if begins == b"run,":
        (run,) = load(folder)
        rows = pl.read_csv(content, infer_schema_length=None).filter(entity="flow/one", series="srtt_ms")
        assert np.array_equal(rows["value"], run.series("flow/one", "srtt_ms")[1])


def test_saved_names_are_no_formulas_to_a_spreadsheet(opened, tmp_path):
    (found,) = stores.small(None)
    block = Block("flow/a;=1+2", ("cwnd",), np.arange(3) * 1_000_000_000, np.full((1, 3), 10.0))
    stores.stored(tmp_path / "out", replace(found, samples=(block,)))
    (tmp_path / "page.html").write_bytes(export(Runs(tmp_path / "out", "out")).content)
    page = opened((tmp_path / "page.html").as_uri())
    page.get_by_text("Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV of the samples shown").click()
    names = {line.split(",")[1] for line in saved.value.path().read_text().splitlines()[1:]}
    assert csv_cell("flow/a;=1+2") == "flow/a;'=1+2"
    assert {name for name in names if name.startswith("flow/")} == {"flow/a;'=1+2"}


def test_a_command_for_a_capture_is_one_word_of_a_shell_whatever_the_folder_is_called(opened, tmp_path):
    folder = tmp_path / "it's; touch PWN $(id)"
    stores.small(folder, capture=True)
    (tmp_path / "page.html").write_bytes(export(Runs(folder, folder.name)).content)
    page = opened((tmp_path / "page.html").as_uri())
    page.click("#tab-details")
    command = page.locator("code", has_text="left.pcap").inner_text()
    (key,) = [path.parent.name for path in folder.glob("*/left.pcap")]
    assert shlex.split(command) == ["dumbbell", "view", f"./{folder.name}/{key}/left.pcap"]
