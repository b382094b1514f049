"""Cuts long documents into pages of at most five screens, for the documentation site. docs/staging.py uses it.

A document of the repository stays one file, because people read it from its first line to its last there. On the site its sections become
pages of their own, if the whole would be longer than `SCREENS`. The first page has the beginning and a list of the sections, in which
each heading keeps its anchor, so that old addresses lead to the place in the list. A section that is too long itself is cut at its
subheadings, with its own beginning before them. The names that mkdocstrings describes (`::: dumbbell.run`) become pages, too.

The length is estimated from the text. tests/docs/test_site.py measures the pages in a browser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from types import ModuleType

from pymdownx.slugs import slugify

SCREENS = 4.0
"""Length of a page that is not cut, in screens of `HEIGHT`."""
_LIST = 0.8
"""Screens that the list of the other sections takes on a first page."""
_MEMBERS = 9
"""Members of a class or of a module on a page."""
_LONGEST_TITLE = 70
"""Maximum number of characters in the title of a page with several sections."""
HEIGHT = 800
"""Pixels of a screen that is 1280 wide."""
_LINE, _CODE, _ROW, _TABLE, _FIGURE, _NAME = 26, 19, 22, 610, 470, 4500
"""Pixels of a line of text or of code, of a line of a table, of the longest table (docs/theme/site.css), of a figure and of the
longest description of a name."""
_SURPLUS = 1.15
"""How much more the numbers above add up to than what a browser shows."""
_CHARACTERS, _IN_TABLE = 115, 150
"""Characters in a line of text, and in a line of a table with one column."""
_PIECES = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[^\S\n]*$|<!--.*?-->", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6}) +(.*?)\s*$")
_NAMED = re.compile(r"^::: (\S+)$")
_ID = re.compile(r'\bid="([^"]+)"')
_slug = slugify(case="lower")


@dataclass
class Page:
    """A page of the site that is part of a document."""

    file: str
    """Name of its file, which lies next to the document's."""
    title: str
    text: str
    parts: list[Page] = field(default_factory=list)

    def all(self) -> Iterator[Page]:
        """Yield the page and its parts, in order."""
        yield self
        for each in self.parts:
            yield from each.all()

    def nav(self) -> object:
        """Return its entry in the navigation of mkdocs."""
        return {self.title: [self.file, *(each.nav() for each in self.parts)] if self.parts else self.file}


def lines_outside_code(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is outside blocks of code and comments, with its number."""
    hidden = {
        number
        for match in _PIECES.finditer(text)
        for number in range(text.count("\n", 0, match.start()), text.count("\n", 0, match.end()) + 1)
    }
    yield from ((number, line) for number, line in enumerate(text.split("\n")) if number not in hidden)


def plain(heading: str) -> str:
    """Return a heading without markup."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"</?\w[^<>]*>|[*`]", "", heading).strip()


def anchors(text: str) -> list[str]:
    """Return the anchors of a page: those of its headings, and those that it names."""
    found = list[str]()
    for _, line in lines_outside_code(text):
        if match := _HEADING.match(line):
            slug = _slug(plain(match[2]), "-")
            again = sum(each == slug or re.fullmatch(rf"{re.escape(slug)}_\d+", each) is not None for each in found)
            found.append(f"{slug}_{again}" if again else slug)
        if match := _NAMED.match(line):
            found.append(match[1])
        found += _ID.findall(line)
    return found


def screens(text: str) -> float:
    """Estimate the length of a page."""
    pixels, table, code = 60, 0, False
    for line in [*re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).split("\n"), ""]:
        bare = line.strip()
        if re.match(r"```|~~~", bare):
            code = not code
            pixels += 14
        elif code or line.startswith("    "):
            pixels += _CODE
        elif bare.startswith("|"):
            cells = bare.strip("|").split("|")
            widest = max(len(re.sub(r"\]\([^)]*\)|<[^>]*>", "", cell)) for cell in cells)
            table += 12 + _ROW * ceil(widest / max(24, _IN_TABLE / len(cells) * 1.3))
        elif bare.startswith("!["):
            pixels += _FIGURE
        elif match := _NAMED.match(bare):
            pixels += _NAME
        elif match := _HEADING.match(bare):
            pixels += 70 - 6 * len(match[1])
        elif bare:
            pixels += ceil(len(re.sub(r"\]\([^)]*\)", "", bare)) / _CHARACTERS) * _LINE
        else:
            pixels += 12
        if table and not bare.startswith("|"):
            pixels += min(table, _TABLE) + 20
            table = 0
    return pixels / _SURPLUS / HEIGHT


def sections(text: str, level: int) -> tuple[str, list[tuple[str, str]]]:
    """Cut a page at its headings of a level, or at the names that it describes: its beginning, and each section with its title."""
    lines = text.split("\n")
    starts = list[tuple[int, str]]()
    for number, line in lines_outside_code(text):
        if (match := _HEADING.match(line)) and len(match[1]) == level:
            starts.append((number, match[2]))
    if not starts:
        starts = [(number, match[1]) for number, line in lines_outside_code(text) if (match := _NAMED.match(line))]
    ends = [*(number for number, _ in starts[1:]), len(lines)][: len(starts)]
    beginning = "\n".join(lines[: starts[0][0]] if starts else lines)
    return beginning, [(title, "\n".join(lines[start:end])) for (start, title), end in zip(starts, ends, strict=True)]


def raised(text: str, by: int) -> str:
    """Return a section with its headings some levels higher."""
    lines = text.split("\n")
    for number, line in lines_outside_code(text):
        if match := _HEADING.match(line):
            lines[number] = line[min(by, len(match[1]) - 1) :]
    return "\n".join(lines)


def first_sentence(text: str) -> str:
    """Return the first sentence of a section's prose, without markup that needs the rest; empty if the section begins otherwise."""
    body = "\n".join(text.split("\n")[1:]).lstrip()
    paragraph = " ".join(body.split("\n\n", 1)[0].split())
    if not re.match(r"[A-Z`*\[]", paragraph) or paragraph.startswith("**"):
        return ""
    sentence = re.match(r".*?[.!?](?= [A-Z`*]|$)", paragraph)
    return sentence[0] if sentence and len(sentence[0]) < 200 and sentence[0].count("`") % 2 == 0 else ""


def cut(file: str, title: str, text: str) -> Page:
    """Return a document as the pages of the site."""
    whole = Page(file, title, text)
    if screens(text) <= SCREENS:
        return whole
    beginning, found = sections(text, 2)
    names = [name for name, section in found if _NAMED.match(section)]
    if len(found) < 2 and not names:
        return whole
    stem, groups = file.removesuffix(".md"), list(packed(found, screens(beginning)))
    first, *others = groups
    for group in others:
        heading = ", ".join(plain(each) for each, _ in group)
        if len(heading) > _LONGEST_TITLE and len(group) > 1:
            heading = f"{plain(group[0][0])} and more"
        ((name, section), *more) = group
        part = f"{stem}-{_slug(plain(name), '-')[:48].rstrip('-')}.md"
        if name in names:
            whole.parts.append(of_name(part, name))
        elif more:
            whole.parts.append(Page(part, heading, f"# {heading}\n\n" + "\n".join(section for _, section in group)))
        else:
            whole.parts.append(cut(part, heading, raised(section, 1)))
    listed = "\n".join(entry(part, section) for group, part in zip(others, whole.parts, strict=True) for _, section in group)
    kept = "\n".join(section for _, section in first)
    more_on = f"## More on {title}\n\n" if kept.strip() else ""
    whole.text = f"{beginning.rstrip()}\n\n{kept}\n{more_on}{listed}\n"
    return whole


def of_name(file: str, name: str) -> Page:
    """Return the page of a name of Python, with further pages for the members of a large class or of a module."""
    import dumbbell  # building the site may import dumbbell, and reading its pages need not

    described = getattr(dumbbell, name.rpartition(".")[2])
    if isinstance(described, ModuleType):
        members = sorted(described.__all__, key=str.lower)
        own = "members: false"
    else:
        named = (*getattr(described, "__annotations__", {}), *vars(described)) if isinstance(described, type) else ()
        members = [each for each in dict.fromkeys(named) if not each.startswith(("_", "model_", "KIND"))]
        first = _MEMBERS if len(members) > 2 * _MEMBERS - 4 else len(members)
        own = f"members: {json.dumps(members[:first])}"  # quoted: YAML takes a member called on for true
        members = members[first:]
    options = f"heading_level: 1, {own}" if members else "heading_level: 1"
    page = Page(file, name, f"---\ntitle: {name}\n---\n::: {name}\n    options: {{{options}}}\n")
    for start in range(0, len(members), _MEMBERS):
        some = members[start : start + _MEMBERS]
        heading = f"{name}: {some[0]} to {some[-1]}"
        text = "".join(f"\n::: {name}.{each}\n    options: {{heading_level: 2}}\n" for each in some)
        page.parts.append(Page(f"{file.removesuffix('.md')}-{start // _MEMBERS + 2}.md", heading, f"# {heading}\n{text}"))
    if page.parts:
        page.text += "\nMore members:\n\n" + "".join(f"- [{each.title}]({each.file})\n" for each in page.parts)
    return page


def packed(found: Sequence[tuple[str, str]], begun: float) -> Iterator[list[tuple[str, str]]]:
    """Yield the sections for each page, in order. The first page has a beginning of this many screens, and may have no section.

    Sections that are cut themselves, and names, have a page for themselves.
    """
    group, length = list[tuple[str, str]](), begun + _LIST
    for each in found:
        longer = screens(each[1])
        alone = _NAMED.match(each[1]) is not None or longer > SCREENS
        if alone or length + longer > SCREENS:
            yield group
            group, length = [], 0.0
        group.append(each)
        length += SCREENS if alone else longer
    yield group


def entry(part: Page, section: str) -> str:
    """Return the entry of a list for a section on another page: a link, its first sentence, and the anchors that the document had here."""
    kept = "".join(f'<a id="{each}"></a>' for each in anchors(section) if not _NAMED.match(section))
    heading = _HEADING.match(section.split("\n", 1)[0])
    title = plain(heading[2]) if heading else part.title
    there = f"#{anchors(section)[0]}" if part.text.startswith(f"# {part.title}\n") and title != part.title else ""
    said = first_sentence(raised(section, 1))
    if said and "](" not in said:
        return f"- {kept}[{title}]({part.file}{there}): {said}"
    inside = [plain(match[2]) for _, line in lines_outside_code(section) if (match := _HEADING.match(line)) and len(match[1]) == 3]
    if inside and not part.parts and all(each.endswith("?") for each in inside):
        asked = "".join(f"\n    - [{each}]({part.file}#{_slug(each, '-')})" for each in inside)
        return f"- {kept}[{title}]({part.file}{there}){asked}"
    return f"- {kept}[{title}]({part.file}{there})"


def moved(page: Page) -> Mapping[str, str]:
    """Return the anchors of a document that are on other pages than its first, each with that page's file."""
    return {anchor: each.file for part in page.parts for each in part.all() for anchor in anchors(each.text)}
