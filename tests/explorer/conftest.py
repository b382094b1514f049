"""A browser, and pages in it that say what they asked for and complained of."""

from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from explorer import stores
from required import missing
from waiting import HANG_S

from dumbbell.explorer.export import export
from dumbbell.explorer.runs import Runs
from dumbbell.explorer.server import Server

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium without a display."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        missing("browser", error)
    if not CHROMIUM.exists():
        missing("browser", f"{CHROMIUM}: no such file")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser):
    """A function that opens an address, offline unless told otherwise; what went wrong and was asked for is in `faults` and `requests`."""
    contexts = []

    def open_(address, online=False, **options):
        context = browser.new_context(viewport={"width": 1200, "height": 950}, offline=not online, **options)
        context.set_default_timeout(1000 * HANG_S)
        contexts.append(context)
        page = context.new_page()
        page.faults, page.requests = [], []
        page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def serving():
    """A function that serves a site on the loopback while its context lasts."""

    @contextmanager
    def serve(site):
        with Server(site) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield server
            finally:
                server.shutdown()
                thread.join()

    return serve


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A function that gives the folder of one of the stores of `stores.py`, and its page, each made only once."""
    kept = {}

    def make(name):
        if name not in kept:
            folder = tmp_path_factory.mktemp("explorer") / name
            getattr(stores, name)(folder)
            page = folder.parent / f"{name}.html"
            page.write_bytes(export(Runs(folder, name)).content)
            kept[name] = folder, page
        return kept[name]

    return make
