"""A hook of mkdocs.yml: puts the pages of long documents into the navigation (docs/parts.py), and makes the pages of the site smaller, so
that the front page loads at most 300 kB (tests/docs/test_site.py).

It takes rules of the theme's stylesheets away that are for parts that no page has, and the stylesheet of Python's reference from all other
pages.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

UNUSED = re.compile(
    r"admonition|tabbed|task-list|tasklist|annotation|mermaid|arithmatex|critic|md-version|md-consent|md-feedback|md-post|md-author|md-progress"
    r"|\[dir=rtl\]|twemoji|\.keys|color-primary=(?!blue-grey)|color-accent="
)
"""Marks of selectors for parts of the theme that no page has."""
_RULE = re.compile(r"([^{}]+)\{[^{}]*\}")
_ICON = re.compile(r'--md-(?:admonition|annotation|tasklist|version)-icon[a-z-]*:url\("[^"]*"\);?')
_REFERENCE = re.compile(r'<link rel="stylesheet" href="[^"]*_mkdocstrings\.css">\s*')


def slim(css: str) -> str:
    """Return a stylesheet without the rules all of whose selectors are for unused parts."""

    def kept(match: re.Match[str]) -> str:
        selectors = match[1].split(",")
        return "" if all(UNUSED.search(each) for each in selectors) else match[0]

    return _RULE.sub(kept, _ICON.sub("", css))


def on_config(config: Any) -> Any:
    """Put the parts of documents behind their first pages in the navigation."""
    file = Path(config["docs_dir"]) / ".parts.json"
    parts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def folder_of(entry: Any, folder: str) -> Any:
        if isinstance(entry, str):
            return f"{folder}{entry}"
        return {
            title: [folder_of(each, folder) for each in inside] if isinstance(inside, list) else f"{folder}{inside}"
            for title, inside in entry.items()
        }

    def with_parts(entry: Any) -> Any:
        if isinstance(entry, list):
            return [with_parts(each) for each in entry]
        if isinstance(entry, str):
            if entry not in parts:
                return entry
            return folder_of(parts[entry], f"{entry.rpartition('/')[0]}/" if "/" in entry else "")
        ((title, inside),) = entry.items()
        if isinstance(inside, str) and inside in parts:
            ((_, pages),) = with_parts(inside).items()
            return {title: pages}
        return {title: with_parts(inside)}

    config["nav"] = with_parts(config["nav"])
    return config


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Name the dialog of the search, and take the stylesheet of Python's reference away where it is not needed."""
    output = output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')
    return output if page.file.src_uri.startswith("python") else _REFERENCE.sub("", output)


def on_post_build(config: Any, **_: Any) -> None:
    """Write the theme's stylesheets without unused rules."""
    for path in sorted(Path(config["site_dir"]).glob("assets/stylesheets/*.css")):
        path.write_text(slim(path.read_text(encoding="utf-8")), encoding="utf-8")
