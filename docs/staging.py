"""Stages the pages of the documentation site: what mkdocs.yml builds is what this leaves.

    python docs/staging.py [--into DIR] [--notebooks] [--explorers] [--rust DIR]

The documents are read on GitHub as they stand, so that their links lead to files of the repository. Here they get what a site
alone has:

- files that they link to outside docs/ are copied below `files/` (sources and scenarios as pages with their text), and the links follow;
- a block between `<!-- site NAME -->` and `<!-- end -->` gets what is made with the site: the results of notebooks, the
  explorers of the studies that exist, Rust's reference;
- each page gets its first sentences as its description, which search engines show;
- a long document becomes several pages (docs/parts.py), and links to its sections follow. `PARTS` has them for the navigation.

The same files give the same pages.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from docs import explorer, parts

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NOTEBOOKS = DOCS / "notebooks"
STAGED = ROOT / "target" / "site"
HEAD = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
"""Front matter of a page."""
LONGEST = 160
"""Characters of a page's description."""
FILES = "files"
"""Folder of the site for what lies outside docs/."""
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".rs": "rust", ".toml": "toml", ".yaml": "yaml"}
"""Files that are shown as a page with their text; others are copied."""
ASSETS = {".css", ".csv", ".js", ".png", ".svg"}
"""Files of docs/ that are copied with its pages."""
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
PARTS = ".parts.json"
"""File of the pages with, for each document that was cut, its entry in the navigation. docs/slim.py reads it."""
FRONT = ("sce-one-flow", "fairness", "teacup")
"""Explorers whose pictures the front page has."""
FENCE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"<!-- site (?P<name>\S+) -->\n.*?<!-- end -->", re.DOTALL)
Blocks = Mapping[str, str]


def place(path: Path) -> Path:
    """Return the place of a repository's file in the site."""
    if path.is_relative_to(DOCS) and (path.suffix == ".md" or path.suffix in ASSETS):
        return path.relative_to(DOCS)
    inside = FILES / path.relative_to(ROOT)
    if path.is_dir():
        return inside / "index.md"
    return inside.with_name(inside.name + ".md") if path.suffix in LANGUAGES else inside


def page(path: Path) -> str:
    """A file as Markdown: a page as it is, a folder as a list, a source as a block of code."""
    name = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        return f"# {name}\n\n" + "".join(f"- [{each.name}]({each.name})\n" for each in sorted(path.iterdir()) if shown(each))
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".md" else f"# {name}\n\n```{LANGUAGES[path.suffix]}\n{text.rstrip()}\n```\n"


def shown(path: Path) -> bool:
    """True if a folder's list has it."""
    return not path.name.startswith((".", "_"))


def outside_code(text: str, change: re.Pattern[str], to: object) -> str:
    """Substitution in what is no block of code."""
    parts = FENCE.split(text)
    return "".join(part if i % 2 else change.sub(to, part) for i, part in enumerate(parts))  # type: ignore[arg-type]


def described(text: str) -> str:
    """A page with its first paragraph, without markup and at most `LONGEST` characters, as its description."""
    head = HEAD.match(text)
    front, text = (head[0], text[head.end() :]) if head else ("", text)
    paragraphs = re.findall(r"^(?=[A-Za-z*`\[])(?!\*\*?\[).+(?:\n.+)*", FENCE.sub("", text), re.MULTILINE)
    first = " ".join(next(iter(paragraphs), "").split())
    first = re.sub(r"[*`]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first))
    if len(first) > LONGEST:
        first = first[:LONGEST].rpartition(" ")[0].rstrip(".,:") + " ..."
    if not first:
        return front + text
    rest = front.removeprefix("---\n") or "---\n"
    return f"---\ndescription: {json.dumps(first)}\n{rest}{text}"


def links(path: Path, text: str) -> tuple[str, list[Path]]:
    """A page with its links as they are in the site, and the files that these lead to."""
    found: list[Path] = []
    here = place(path).parent
    base = path if path.is_dir() else path.parent

    def link(match: re.Match[str]) -> str:
        file, hash_, anchor = match[2].partition("#")
        if not file or re.match(r"[a-z]+:", file):
            return match[0]
        target = Path(os.path.normpath(base / file))
        if not target.exists():
            raise SystemExit(f"{path.relative_to(ROOT)}: the link {match[2]} leads to no file")
        found.append(target)
        return match[1] + os.path.relpath(place(target), here) + hash_ + anchor + match[3]

    return outside_code(text, LINK, link), found


def stage(into: Path, blocks: Blocks, run_notebooks: bool = False) -> None:
    """All pages and files of the site into a folder, with the blocks that are made with it; a block without content stays as it is."""
    waiting = [path for path in sorted(DOCS.rglob("*")) if path.suffix == ".md" or path.suffix in ASSETS]
    done: set[Path] = set()
    pages = dict[Path, parts.Page]()
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        target = into / place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix != ".md":
            shutil.copyfile(path, target)
            continue
        text, linked = links(path, page(path))
        if run_notebooks and path.parent == NOTEBOOKS:
            text = results_of_notebook(text, target)
        made = BLOCK.sub(lambda match: blocks.get(match["name"], match[0]), text)
        waiting += linked
        if path.is_relative_to(DOCS):
            pages[target] = parts.cut(target.name, title(made), made)
        else:
            target.write_text(made, encoding="utf-8")
    write(into, pages)


def title(text: str) -> str:
    """Return the title of a page."""
    found = re.search(r"^# +(.*)$", text, re.MULTILINE)
    return parts.plain(found[1]) if found else ""


def write(into: Path, pages: Mapping[Path, parts.Page]) -> None:
    """Write the pages of documents, with links to sections that became pages."""
    away = {target: parts.moved(page) for target, page in pages.items()}

    def write_one(target: Path, page: parts.Page) -> None:
        def link(match: re.Match[str]) -> str:
            file, hash_, anchor = match[2].partition("#")
            if not hash_ or re.match(r"[a-z]+:", file):
                return match[0]
            document = Path(os.path.normpath(target.parent / file)) if file else target
            moved = away.get(document, {}).get(anchor)
            if moved is None:
                return match[0] if file or page.file == target.name else f"{match[1]}{target.name}#{anchor}{match[3]}"
            if document == target and moved == page.file:
                return f"{match[1]}#{anchor}{match[3]}"
            return match[1] + os.path.relpath(document.parent / moved, target.parent) + f"#{anchor}" + match[3]

        text = described(outside_code(page.text, LINK, link))
        target.with_name(page.file).write_text(text, encoding="utf-8")

    for target, page in pages.items():
        for each in page.all():
            write_one(target, each)
    navigation = {target.relative_to(into).as_posix(): page.nav() for target, page in pages.items() if page.parts}
    (into / PARTS).write_text(json.dumps(navigation), encoding="utf-8")


def results_of_notebook(text: str, page_: Path) -> str:
    """A notebook with its results, whose figures are put next to its page."""
    from docs.notebooks import executed  # its libraries are of the extra `site`

    return executed(text, page_.parent, page_.stem)


def explorers(made: Iterable[explorer.Page]) -> str:
    """The list of the explorers that were made."""
    return "".join(
        f"- [{page_.title}](explorers/{page_.file.name}){', the quick set' if page_.quick else ''} ({page_.name})\n" for page_ in made
    )


def pictures(made: Iterable[explorer.Page]) -> str:
    """The pictures of the front page, each a link to the explorer that it shows."""
    titles = {page_.file.stem: page_.title for page_ in made}
    named = [name for name in FRONT if name in titles]
    return "".join(f"[![{titles[name]}](figures/explorers/{name}.png)](explorers/{name}.html)\n" for name in named)


def rust(reference: Path, into: Path) -> str:
    """The reference that `cargo doc` left, copied, and the list of its crates."""
    shutil.copytree(reference, into / "rust", ignore=shutil.ignore_patterns(".lock"))
    crates = [path.parent.name for path in sorted(reference.glob("dumbbell_*/index.html"))]
    return "".join(f"- [{name.replace('_', '-')}](rust/{name}/index.html)\n" for name in crates)


def main(arguments: Sequence[str] | None = None) -> None:
    """Stage the site."""
    parser = argparse.ArgumentParser(description="Stage the pages of the documentation site.")
    parser.add_argument("--into", type=Path, default=STAGED, help="folder for the pages; what was in it goes")
    parser.add_argument("--notebooks", action="store_true", help="run the notebooks, and show their results")
    parser.add_argument("--explorers", action="store_true", help="make the explorers of the studies, with the runs that they lack")
    parser.add_argument("--rust", metavar="DIR", type=Path, help="what cargo doc left")
    asked = parser.parse_args(arguments)
    shutil.rmtree(asked.into, ignore_errors=True)
    asked.into.mkdir(parents=True)
    blocks = {}
    if asked.explorers:
        made = list(explorer.pages(asked.into / "explorers"))
        blocks |= {"explorers": explorers(made), "pictures": pictures(made)}
    if asked.rust:
        blocks["rust"] = rust(asked.rust, asked.into)
    stage(asked.into, blocks, asked.notebooks)


if __name__ == "__main__":
    main()
