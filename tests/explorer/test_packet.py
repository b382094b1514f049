"""Packets of the time-sequence graph: what a click on one and the keys show."""

from pathlib import Path

import polars as pl
import pytest

from dumbbell.explorer.capture import Capture
from dumbbell.explorer.export import export
from dumbbell.trace import packets

RECORDED = Path(__file__).parent.parent / "trace" / "recorded"
RED = """() => {
  const canvas = document.querySelector('[data-panel="sequence"] canvas');
  const { width, height } = canvas;
  const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  for (let i = 0; i < data.length; i += 4)
    if (data[i] > 180 && data[i + 1] < 80 && data[i + 2] < 80 && data[i + 3] > 200) {
      const box = canvas.getBoundingClientRect();
      return [box.left + ((i / 4) % width) / devicePixelRatio, box.top + Math.floor(i / 4 / width) / devicePixelRatio];
    }
}"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """A page of a capture with losses, the number of its second connection, and the packets of that."""
    file = RECORDED / "losses.pcap.gz"
    page = tmp_path_factory.mktemp("packets") / "page.html"
    page.write_bytes(export(Capture(file, "losses")).content)
    return page.as_uri(), 2, packets(file, 1)


@pytest.fixture
def page(capture, opened):
    address, lost, _ = capture
    return opened(f"{address}#runs={lost}")


def facts(page):
    """Label -> text of the packet that is shown."""
    page.wait_for_selector(".packet dl")
    return dict(
        page.locator(".packet dl > div").evaluate_all("found => found.map((each) => [...each.children].map((one) => one.textContent))")
    )


def seconds(text):
    return float(text.removeprefix("at ").partition(" ")[0])


def test_keys_go_through_the_segments_that_were_lost(page, capture):
    rows = capture[2]
    again = rows.filter((pl.col("again_bytes") > 0) & (pl.col("payload") > 0)).sort("t_ns")
    zero = page.evaluate("dumbbell.range()")
    assert page.locator(".packet").is_hidden()
    page.keyboard.press("n")
    shown = facts(page)
    first = again.row(0, named=True)
    assert shown["what"] == "a retransmitted segment"
    assert shown["sequence"] == f"{first['start']} to {first['start'] + first['payload']} ({first['payload']} bytes)"
    assert zero[0] <= seconds(shown["time"]) <= zero[1]
    before = rows.filter((pl.col("start") == first["start"]) & (pl.col("again_bytes") == 0) & (pl.col("payload") > 0)).row(0, named=True)
    assert seconds(shown["time"]) - seconds(shown["sent before"]) == pytest.approx((first["t_ns"] - before["t_ns"]) / 1e9, abs=2e-9)
    page.keyboard.press("n")
    second = again.row(1, named=True)
    page.wait_for_function("start => document.querySelector('.packet dl').textContent.includes(`sequence${start} to`)", arg=second["start"])
    page.keyboard.press("p")
    page.wait_for_function("start => document.querySelector('.packet dl').textContent.includes(`sequence${start} to`)", arg=first["start"])
    assert facts(page) == shown
    page.get_by_role("button", name=shown["sent before"]).click()
    page.wait_for_function("() => document.querySelector('.packet dl').textContent.includes('taken for lost')")
    original = facts(page)
    assert original["sequence"] == shown["sequence"]
    assert seconds(original["retransmitted"]) == seconds(shown["time"])
    assert page.faults == []


def test_the_address_keeps_the_packet_and_escape_closes_it(page):
    page.keyboard.press("Shift+N")
    shown = facts(page)
    assert shown["what"] == "a segment"
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert facts(page) == shown
    page.keyboard.press("Escape")
    page.wait_for_selector(".packet", state="hidden")
    assert "packet=" not in page.evaluate("location.hash")


def test_a_click_on_a_segment_that_was_sent_again_shows_it(page, capture):
    again = capture[2].filter((pl.col("again_bytes") > 0) & (pl.col("payload") > 0))
    page.keyboard.press("n")
    at = seconds(facts(page)["time"])
    page.keyboard.press("Escape")
    page.evaluate("at => dumbbell.show(at - 0.02, at + 0.02)", at)
    x, y = page.evaluate(RED)
    page.mouse.click(x, y)
    shown = facts(page)
    assert shown["what"] == "a retransmitted segment"
    assert int(shown["sequence"].split()[0]) in set(again["start"])
    before = page.evaluate("dumbbell.range()")
    box = page.locator('[data-panel="sequence"] .u-over').bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    page.wait_for_selector(".packet", state="hidden")
    assert page.evaluate("dumbbell.range()") == before


def test_an_acknowledgment_has_its_sack_block(page, capture):
    rows, zero_ns = capture[2], round(capture[2]["t_ns"].min() / 1e9) * 10**9
    page.keyboard.press("n")
    lost = facts(page)
    page.get_by_role("button", name=lost["sent before"]).click()
    page.wait_for_function("() => document.querySelector('.packet dl').textContent.includes('taken for lost')")
    page.keyboard.press("Shift+N")  # the one after it arrived, and is in a block
    page.wait_for_function("lost => !document.querySelector('.packet dl').textContent.includes(lost)", arg=f"sequence{lost['sequence']}")
    page.locator('[data-fact="SACK"] button').click()
    page.wait_for_function("() => document.querySelector('.packet dl').textContent.includes('an acknowledgment')")
    shown = facts(page)
    (row,) = [
        each
        for each in rows.filter(pl.col("sack_start").is_not_null()).rows(named=True)
        if each["t_ns"] - zero_ns == round(seconds(shown["time"]) * 1e9)
    ]
    assert shown["SACK"] == f"{row['sack_start']} to {row['sack_end']} ({row['sack_end'] - row['sack_start']} bytes)"
    assert shown["acknowledges"] == f"up to {row['ack']}"
    assert shown["ECN"] == "echoes no mark"


def test_marks_are_gone_through_as_well(opened, tmp_path):
    file = RECORDED / "marks.pcap.gz"
    (tmp_path / "page.html").write_bytes(export(Capture(file, "marks")).content)
    page = opened((tmp_path / "page.html").as_uri())
    page.keyboard.press("n")
    shown = facts(page)
    echoes = packets(file, 0).filter(pl.col("ece") & ~pl.col("syn")).sort("t_ns")
    assert (shown["what"], shown["ECN"]) == ("an acknowledgment", "echoes a mark (ECE)")
    assert shown["acknowledges"] == f"up to {echoes['ack'][0]}"
    page.keyboard.press("n")  # those that follow echo the same mark
    page.wait_for_function("() => document.querySelector('#says').textContent === 'There is no further packet that was lost or marked.'")
