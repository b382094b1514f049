"""The documentation site: built without a warning, whole, and alone in the world."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from required import missing
from waiting import HANG_S

import dumbbell
from docs import explorer, parts, staging

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHROMIUM = Path("/usr/bin/chromium")
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LOADS = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
"""Elements that a browser fetches by itself, with the attribute that holds the address."""


class Page(HTMLParser):
    """Addresses that a page of the site loads and links to, and anchors that others can link to."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag in LOADS and found.get(LOADS[tag]) and found.get("rel") != "canonical":
            self.loads.append(found[LOADS[tag]])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site without what is made with it: results of notebooks, Rust's reference, explorers."""
    try:
        import mkdocs  # noqa: F401
        import mkdocstrings  # noqa: F401
    except ImportError as error:
        missing("site", error)
    folder = tmp_path_factory.mktemp("site")
    staging.main(["--into", str(folder / "pages")])
    build = (
        "import sys; from mkdocs.commands.build import build; from mkdocs.config import load_config;"
        "build(load_config('mkdocs.yml', docs_dir=sys.argv[1], site_dir=sys.argv[2], strict=True))"
    )
    command = [sys.executable, "-c", build, folder / "pages", folder / "site"]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "WARNING" not in ended.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def parsed(site):
    """The pages of the site, by their path."""
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_document_is_a_page(parsed, site):
    assert {site / page.replace(".md", ".html") for page in PAGES} <= set(parsed)


def test_nothing_is_loaded_from_elsewhere(parsed, site):
    assert {
        each for page in parsed.values() for each in page.loads if urlsplit(each).scheme not in ("", "data") or each.startswith("//")
    } == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\"]*", styles)


def test_links_lead_to_files_and_anchors_of_the_site(parsed):
    for path, page in parsed.items():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.name}: {link}"
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in parsed[target].anchors, f"{path.name}: {link}"


def test_it_is_searched_from_the_file_system_and_asks_nobody(site):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        missing("browser", error)
    if not CHROMIUM.exists():
        missing("browser", f"{CHROMIUM}: no such file")
    asked, faults = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 420, "height": 900}, color_scheme="dark")
        page.set_default_timeout(1000 * HANG_S)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto((site / "howto" / "bufferbloat.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == 420
        page.set_viewport_size({"width": 1300, "height": 900})
        page.locator("input.md-search__input").fill("starve")
        page.wait_for_selector(".md-search-result__item")
        assert "howto/starvation.html" in page.locator(".md-search-result__link").first.get_attribute("href")
        browser.close()
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    assert faults == []


@pytest.fixture(scope="module")
def browser():
    """A browser without a network."""
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


def test_the_front_page_loads_at_most_300_kb(site, browser):
    """The index of the search and its program load when somebody searches."""
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri(), wait_until="networkidle")
    files = {Path(unquote(urlsplit(url).path)) for url in asked if url.startswith("file:")}
    assert {"index.html", "upload.svg"} <= {file.name for file in files}
    assert sum(file.stat().st_size for file in files) <= 300_000


@pytest.mark.clock
def test_the_front_page_is_painted_within_a_second(site, browser):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    (first,) = page.evaluate("performance.getEntriesByName('first-contentful-paint').map(each => each.startTime)")
    assert first <= 1000


def test_a_copy_of_commands_has_no_prompt_and_no_output(site, browser):
    page = browser.new_page()
    page.goto((site / "howto" / "bufferbloat.html").as_uri())
    copied = page.evaluate(
        """() => {
            const block = [...document.querySelectorAll('pre code')].find(each => each.querySelector('.gp') && each.querySelector('.go'));
            block.setAttribute('data-md-copying', '');
            return block.innerText.trim();
        }"""
    )
    assert copied
    assert [line for line in copied.splitlines() if line and not line.startswith("dumbbell")] == []


def test_every_page_has_a_description_of_its_own(site):
    found = {}
    for name in PAGES:
        text = (site / name).with_suffix(".html").read_text(encoding="utf-8")
        found[name] = re.search(r'<meta name="description" content="([^"]*)"', text)[1]
        assert f"dumbbell {dumbbell.__version__}" in text
    assert len(set(found.values())) == len(found)
    assert [name for name, text in found.items() if not 20 <= len(text) <= 200] == []


def test_every_document_is_in_the_navigation():
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == PAGES


def test_the_reference_has_every_name():
    listed = re.findall(r"^::: dumbbell\.(\w+)$", (DOCS / "python.md").read_text(), re.MULTILINE)
    assert sorted({*dir(dumbbell), "metrics"} - {"__version__"}) == sorted(listed)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_the_same_here_and_where_it_lies(name):
    """Programs that make HTML of Markdown differ in lists, tables and code; what is written alike for both looks alike in both."""
    try:
        import markdown
        import markdown_it
    except ImportError as error:
        missing("site", error)
    text = re.sub(r"\A---\n.*?\n---\n", "", (DOCS / name).read_text(), flags=re.DOTALL)
    there = markdown_it.MarkdownIt("commonmark").enable("table").render(text)
    here = markdown.markdown(text, extensions=["tables", "sane_lists", "pymdownx.superfences", "pymdownx.betterem"])
    assert shape(here) == shape(there)


def shape(html):
    """Return how often a page has each of these elements, and its headings."""
    tags = ("h1", "h2", "h3", "h4", "ul", "ol", "li", "table", "tr", "td", "th", "pre", "em", "strong", "img", "a")
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in tags}


def test_files_that_pages_link_to_come_along(tmp_path):
    staging.stage(tmp_path, {})
    assert "](files/examples/loss.yaml.md)" in "".join(path.read_text() for path in tmp_path.glob("paths*.md"))
    assert (tmp_path / "files/examples/loss.yaml.md").read_text().startswith("# examples/loss.yaml\n\n```yaml\n")
    assert "- [loss.yaml](loss.yaml.md)" in (tmp_path / "files/examples/index.md").read_text()
    assert (tmp_path / "files/benchmarks/instructions.csv").read_bytes() == (ROOT / "benchmarks" / "instructions.csv").read_bytes()


def test_a_link_to_nothing_is_told_with_its_page():
    with pytest.raises(SystemExit, match=r"docs/paths.md: the link none.md leads to no file"):
        staging.links(DOCS / "paths.md", "[none](none.md)")


def test_links_in_code_stay():
    text = "```sh\n[a](../examples/loss.yaml)\n```\n[a](../examples/loss.yaml#b)\n"
    changed, linked = staging.links(DOCS / "paths.md", text)
    assert changed == "```sh\n[a](../examples/loss.yaml)\n```\n[a](files/examples/loss.yaml.md#b)\n"
    assert linked == [ROOT / "examples" / "loss.yaml"]


def test_blocks_get_what_is_made_with_the_site(tmp_path):
    reference = tmp_path / "doc"
    (reference / "dumbbell_sim").mkdir(parents=True)
    (reference / "dumbbell_sim" / "index.html").write_text("")
    page = explorer.Page("oracle", "The kernel", tmp_path / "oracle.html", True)
    staging.stage(tmp_path / "pages", {"rust": staging.rust(reference, tmp_path / "pages"), "explorers": staging.explorers([page])})
    assert "- [dumbbell-sim](rust/dumbbell_sim/index.html)\n" in (tmp_path / "pages" / "rust.md").read_text()
    assert (tmp_path / "pages" / "rust" / "dumbbell_sim" / "index.html").exists()
    assert "- [The kernel](explorers/oracle.html), the quick set (oracle)\n" in (tmp_path / "pages" / "explorers.md").read_text()


def test_pictures_of_the_front_page_lead_to_the_explorers(tmp_path):
    made = [explorer.Page(name, name.upper(), tmp_path / f"{name}.html", True) for name in (*staging.FRONT, "oracle")]
    staging.stage(tmp_path / "pages", {"pictures": staging.pictures(made)})
    text = (tmp_path / "pages" / "index.md").read_text()
    for name in staging.FRONT:
        assert f"[![{name.upper()}](figures/explorers/{name}.png)](explorers/{name}.html)\n" in text
        assert (tmp_path / "pages" / "figures" / "explorers" / f"{name}.png").is_file()


def test_a_long_document_is_cut_at_its_sections_and_links_follow(tmp_path):
    long = "".join(f"\n## Part {i}\n\n" + "A sentence.\n" * 100 + f"\n\n### Detail {i}\n\nSee [it](#detail-2).\n" for i in range(1, 4))
    page = parts.cut("a.md", "A", f"# A\n\nIt begins.\n{long}")
    away = parts.moved(page)
    assert [each.file for each in page.all()] == ["a.md", *dict.fromkeys(away.values())]
    assert away["detail-3"] == away["part-3"] != "a.md"
    assert all(parts.screens(each.text) <= parts.SCREENS for each in page.all())
    assert len(page.parts) == 3
    staging.write(tmp_path, {tmp_path / "a.md": page, tmp_path / "b.md": parts.Page("b.md", "B", "[c](a.md#part-3)\n")})
    assert f"[c]({away['part-3']}#part-3)" in (tmp_path / "b.md").read_text()
    assert f"See [it]({away['detail-2']}#detail-2)" in (tmp_path / away["detail-3"]).read_text()
    assert f'<a id="part-3"></a><a id="detail-3"></a>[Part 3]({away["part-3"]}' in (tmp_path / "a.md").read_text()


def test_a_short_document_stays_whole():
    text = "# A\n\n## One\n\nA sentence.\n\n## Two\n\nA sentence.\n"
    assert list(parts.cut("a.md", "A", text).all()) == [parts.Page("a.md", "A", text)]


def test_headings_in_code_are_no_sections():
    assert parts.sections("# A\n\n```sh\n## no\n```\n\n## yes\n", 2)[1] == [("yes", "## yes\n")]


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_no_page_is_wider_than_the_screen_or_longer_than_five(site, browser, width, height):
    """Long tables scroll in themselves (docs/theme/site.css). Lines on a phone are a third as long, so its pages have up to ten screens."""
    page, wide, long = browser.new_page(viewport={"width": width, "height": height}), [], {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if not name.startswith("files/") and name != "404.html":
            page.goto(path.as_uri(), wait_until="load")
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append(name)
            screens = page.evaluate("document.querySelector('.md-content').scrollHeight") / height
            if screens > (5 if width > 1000 else 10):
                long[name] = round(screens, 1)
    assert wide == []
    assert long == {}


def test_words_have_contrast_and_links_are_seen_without_colours(site, browser):
    from axe_playwright_python.sync_playwright import Axe

    rules = {"runOnly": ["color-contrast", "link-in-text-block", "aria-dialog-name"]}
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
        for name in (
            "index",
            "tutorial",
            "examples-home-and-access-links",
            "howto/which-aqm",
            "scenario/path",
            "fidelity",
            "python-results-dumbbellrun",
        ):
            page.goto((site / f"{name}.html").as_uri())
            found = Axe().run(page, options=rules).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], f"{name}, {scheme}"


@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.md")), ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    if shutil.which("jupytext", path=Path(sys.executable).parent) is None:
        missing("site", "there is no jupytext, which reads notebooks")
    from docs import notebooks

    shown = notebooks.executed(path.read_text(), tmp_path, path.stem)
    figures = [each.name for each in sorted(tmp_path.iterdir())]
    assert figures
    assert re.findall(r"!\[[^\]]*\]\(([^)]+)\)", shown) == figures
    assert shown.count("```python") == path.read_text().count("```python")
