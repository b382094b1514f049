"""Facts of packets that are easily those of another: of another connection, of the same time, of samples that are not there."""

import polars as pl
import pytest
from explorer import stores

from dumbbell.explorer.export import Extent, export
from dumbbell.explorer.runs import Runs
from dumbbell.explorer.server import Site
from dumbbell.trace import analyze, packets

MS = 10**6


@pytest.fixture
def shown(opened, tmp_path):
    """A function that opens a page of packets, with a packet chosen."""

    def show(collection, packet="", **extent):
        (tmp_path / "page.html").write_bytes(export(collection, Extent(**extent)).content)
        return opened(f"{(tmp_path / 'page.html').as_uri()}#packet={packet}")

    return show


def facts(page):
    """Label -> text of the packet that is shown."""
    page.wait_for_selector(".packet dl")
    return dict(
        page.locator(".packet dl > div").evaluate_all("found => found.map((each) => [...each.children].map((one) => one.textContent))")
    )


def go_to(page, key, what):
    page.keyboard.press(key)
    page.wait_for_function("what => document.querySelector('.packet dl')?.textContent.includes(what)", arg=what)


def test_a_packet_of_a_served_run_is_that_of_its_connection(opened, tmp_path, serving):
    (run,) = stores.small(tmp_path / "captured", capture=True)
    file = run.captures["left.pcap"]
    clients = analyze(file).connections["client"][::2].to_list()
    with serving(Site(Runs(tmp_path / "captured", "captured"), "captured")) as server:
        keys = "+".join(f"{run.key}:left.pcap:{number}" for number in (1, 2))
        page = opened(f"{server.address}#run={run.key[:10]}&tab=details", online=True)
        page.get_by_role("button", name="Show its connections").first.click()
        page.wait_for_selector('[data-panel="sequence"]')
        for number, client in enumerate(clients, 1):
            sent = packets(file, number - 1).filter(~pl.col("reverse") & (pl.col("payload") > 0)).row(5, named=True)
            chosen = f"{run.key}:left.pcap:{number}|flow/forward|segment|5"
            page.evaluate("text => { location.hash = text }", f"#runs={keys}&packet={chosen}")
            page.wait_for_function("client => document.querySelector('[data-fact=\"flow\"]')?.textContent.includes(client)", arg=client)
            assert facts(page)["sequence"].startswith(f"{sent['start']} to {sent['start'] + sent['payload']} ")
        assert page.faults == []


def test_what_a_page_does_not_have_is_no_fact(shown):
    segments = [(i * MS, 100 * i, 100 * i + 100, 0, 0) for i in range(30)]
    acks = [(i * MS + 500, 50 * i, None) for i in range(60)]
    outstanding = [(i * MS, i % 7) for i in range(200)]
    page = shown(stores.Packets(segments, acks, outstanding_bytes=outstanding), "1|flow/forward|segment|3", points=40)
    found = facts(page)
    assert found["acknowledged"] == "left out of this page"
    assert found["outstanding"] == "this page has only minimum and maximum values"


def test_packets_of_one_time_are_told_apart(shown):
    segments = [(MS, 100 * i, 100 * i + 100, 0, 0) for i in range(9)]
    acks = [(2 * MS, 100, None), (2 * MS, 100, (200, 300)), (2 * MS, 100, None), (2 * MS, 100, (200, 400)), (3 * MS, 500, None)]
    page = shown(stores.Packets(segments, acks, window_bytes=[(2 * MS, 1), (2 * MS, 2), (3 * MS, 3)]), "1|flow/forward|ack|1")
    found = facts(page)
    assert (found["acknowledges"], found["SACK"]) == ("up to 100", "200 to 300 (100 bytes)")
    assert found["window"] == "2 bytes, after 4 packets of this time"
    for place, block in ((0, "none"), (2, "none"), (3, "200 to 400 (200 bytes)")):
        page.evaluate("packet => { location.hash = `#runs=1&packet=${packet}` }", f"1|flow/forward|ack|{place}")
        page.wait_for_function("block => document.querySelector('[data-fact=\"SACK\"] dd')?.textContent === block", arg=block)
    page.evaluate("() => { location.hash = '#runs=1&packet=1|flow/forward|sack|0' }")
    page.wait_for_function("() => document.querySelector('[data-fact=\"SACK\"] dd')?.textContent === '200 to 300 (100 bytes)'")


def test_a_segment_that_was_sent_again_without_need_had_been_acknowledged(shown):
    segments = [(MS, 0, 100, 0, 0), (2 * MS, 100, 200, 0, 0), (50 * MS, 0, 100, 100, 0), (90 * MS, 200, 300, 0, 0)]
    acks = [(20 * MS, 100, None), (30 * MS, 200, None), (70 * MS, 200, (0, 100)), (95 * MS, 300, None)]
    page = shown(stores.Packets(segments, acks), "1|flow/forward|segment|2")
    found = facts(page)
    assert found["acknowledged"] == "at 0.020000000 s, 30 ms before"
    assert found["SACK"] == "in no first block"
    assert found["came twice (DSACK)"] == "at 0.070000000 s, 20 ms later"
    page.get_by_role("button", name=found["came twice (DSACK)"]).click()
    page.wait_for_function(
        "() => document.querySelector('.packet dl')?.textContent.includes('0 to 100 (100 bytes), which came twice (DSACK)')"
    )


LOSS = stores.Packets(
    [(i * 100 * MS, 1000 * i, 1000 * i + 1000, 0, 0) for i in range(20)]
    + [(1950 * MS, 3000, 4000, 1000, 0), (2000 * MS, 20000, 21000, 0, 0)],
    [(i * 100 * MS + 50 * MS, min(1000 * i, 3000), None) for i in range(20)] + [(2000 * MS, 21000, None)],
)


def test_a_double_click_goes_back_and_leaves_the_packet_as_it_is(shown):
    page = shown(LOSS)
    go_to(page, "n", "retransmitted")
    before = facts(page)
    page.evaluate("() => dumbbell.show(0.5, 1.5)")
    box = page.locator('[data-panel="sequence"] .u-over').bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => dumbbell.range()[0] !== 0.5")
    assert facts(page) == before


@pytest.mark.parametrize("place", ["007", "-1", "1e1", "0x1", "22", " 1", "1.0", ""])
def test_an_address_with_another_number_has_no_packet(shown, place):
    page = shown(LOSS, f"1|flow/forward|segment|{place}")
    assert page.locator(".packet").is_hidden()
    go_to(page, "Shift+N", "sequence0 to 1000")
    assert page.faults == []


def test_the_key_for_the_one_before_begins_with_the_last(shown):
    page = shown(LOSS)
    go_to(page, "Shift+P", "20000 to 21000")
    page.keyboard.press("Escape")
    page.wait_for_selector(".packet", state="hidden")


def test_what_keys_go_to_is_seen_and_has_the_cross_hair(shown):
    page = shown(LOSS)
    go_to(page, "n", "3000 to 4000")
    box = page.locator('[data-panel="sequence"] .u-over').bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 50, box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 0.3 * box["height"], steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    low, high = page.evaluate("() => JSON.parse(new URLSearchParams(location.hash.slice(1)).get('y')).sequence")
    assert low > 0.01
    go_to(page, "Shift+P", "19000 to 20000")
    go_to(page, "n", "3000 to 4000")
    shown_low, shown_high = page.evaluate("() => JSON.parse(new URLSearchParams(location.hash.slice(1)).get('y')).sequence")
    assert shown_low < 0.0035 < shown_high
    assert shown_high - shown_low == pytest.approx(high - low)
    hair = page.locator('[data-panel="sequence"] .u-cursor-x').bounding_box()
    from_, to = page.evaluate("() => dumbbell.range()")
    assert hair["x"] == pytest.approx(box["x"] + (1.95 - from_) / (to - from_) * box["width"], abs=2)


def test_the_focus_stays_while_facts_are_drawn_anew(shown):
    page = shown(LOSS)
    go_to(page, "n", "3000 to 4000")
    assert page.get_by_role("status", name="The chosen packet").is_visible()
    page.get_by_role("button", name="◂ segment").focus()
    go_to(page, "Enter", "19000 to 20000")
    go_to(page, "Enter", "18000 to 19000")
    assert page.evaluate("() => document.activeElement.textContent") == "◂ segment"
    go_to(page, "n", "3000 to 4000")
    page.locator('[data-fact="sent before"] button').focus()
    go_to(page, "Enter", "taken for lost")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "The chosen packet"
    page.get_by_role("button", name="Close").press("Enter")
    page.wait_for_selector(".packet", state="hidden")
    assert page.evaluate("() => document.activeElement.id") == "view"
