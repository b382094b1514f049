"""Checks the language of the documents (CONTRIBUTING.md, "Plain English"), and measures how easily they read.

    python .ci/prose.py [--measure] [PAGE...]

It prints PAGE:LINE of each sentence that begins with one of `BEGINNINGS`, of each house word (`HOUSE`), and each page with more than
`SEMICOLONS` per 1,000 words, and ends with 1 if there are any. `--measure` prints one row per page instead: words, semicolons, "of", "what"
and "you" per 1,000 words, and the Flesch reading ease (Flesch 1948: 206.835 - 1.015 words per sentence - 84.6 syllables per word).
Nothing gates these numbers but the semicolons. The aim is at most 20 "of", and a reading ease of 60 where newcomers read (README, the
tutorial, how-to pages, concepts).

The rules hold for prose, which includes cells of tables, headings and texts of links. They do not hold for code, blocks of code, generated
blocks (`<!-- generated ... -->`), blocks that quote (`<!-- quoted -->`), addresses of links and front matter.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SEMICOLONS = 2.0
"""Most semicolons per 1,000 words of a page."""
NEWCOMERS = ("README.md", "docs/index.md", "docs/tutorial.md", "docs/howto/", "docs/concepts/")
"""Pages that newcomers read: the aims are for these."""
BEGINNINGS = ("Of", "What", "Whether", "As", "Likewise", "Those")
EXEMPT: tuple[str, ...] = ()
"""Pages that do not keep the rules yet. There are none, and none comes back."""

HOUSE: dict[str, str] = {
    r"beside": "compared with, during, next to",
    r"(?:is|are|was|were|be|been|being) refused": "is an error",
    r"(?:is|are|was|were|be|been|being) told": "dumbbell says, prints",
    r"(?:sent|sends?|sending)(?: \w+)? again": "retransmitted",
    r"the (?:least|greatest)": "minimum, maximum",
    r"(?<!error )(?<!progress )(?<!search )(?<!title )(?<!colour )bars?(?! chart)": "target",
    r"(?:a|an|the|each|every|one|another|first|per) repeat|repeats": "seed, run",
    r"anew|(?:made|computed) again": "recomputed, rerun",
    r"(?:what|that) (?:is|are|was|were) (?:already there|there already|there)": "existing",
    r"ours|theirs": "dumbbell, published",
    r"(?<!congestion )(?<!access )(?<!flow )controls": "congestion controls",
    r"(?:a|an|the|my|your|own|each|every|another|one|other) control(?! (?:law|connection|network|packet|run|side))": "congestion control",
    r"lines? rates?|(?:slow|slower|fast|cable|subscriber|full) lines?": "link, link rate",
}
"""Patterns of words that only the project used, with the field's words for them."""
_HOUSE = {re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE): instead for pattern, instead in HOUSE.items()}
_BEGINS = re.compile(rf"(?:^|[.!?:]\)?\s+)[*_(\"]*((?:{'|'.join(BEGINNINGS)})\b[^.!?]*[.!?]?)")
_HIDDEN = re.compile(
    r"\A---\n.*?\n---\n"  # front matter
    r"|^(?P<fence>```+|~~~+).*?^(?P=fence)[^\S\n]*$"
    r"|<!-- (?:generated|site|quoted)\b.*?<!-- end -->"
    r"|<!--.*?-->"
    r"|</?\w[^<>\n]*>",  # anchors
    re.DOTALL | re.MULTILINE,
)
_INLINE = (
    re.compile(r"``.+?``|`[^`\n]+(?:\n[^`\n]+)?`"),
    re.compile(r"!?\[([^\]]*)\]\([^)]*\)"),
    re.compile(r"<?https?://\S+"),
)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.) +")
_INDENTED = re.compile(r"(?: {4}|\t)")
_END = re.compile(r"[.!?:](?=\s|$)")
_VOWELS = re.compile(r"[aeiouy]+")


class Piece(NamedTuple):
    """A paragraph, a heading, an item of a list or a cell of a table."""

    line: int
    text: str


class Measure(NamedTuple):
    """How a page reads; numbers per 1,000 words."""

    words: int
    semicolons: float
    of: float
    what: float
    you: float
    ease: float


def visible(text: str) -> str:
    """A page without what is no prose, each line in its place."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    def replaced(match: re.Match[str]) -> str:
        instead = match[1] if match.re.groups else "X"
        return instead + "\n" * (match[0].count("\n") - instead.count("\n"))

    text = _HIDDEN.sub(blank, text)
    for pattern in _INLINE:
        text = pattern.sub(replaced, text)
    return text


def pieces(text: str) -> Iterator[Piece]:
    """The pieces of a page's prose, each with its first line."""
    begun, lines = 0, list[str]()
    in_list = in_code = False
    for number, line in enumerate([*visible(text).split("\n"), ""], 1):
        bare = line.strip()
        if bare and not lines and not in_list and _INDENTED.match(line):
            in_code = True
        if in_code and (not bare or _INDENTED.match(line)):
            continue
        in_code = False
        item, row, heading = _ITEM.match(line), bare.startswith("|"), bare.startswith("#")
        if lines and (not bare or item or row or heading):
            yield Piece(begun, " ".join(lines))
            lines = []
        if bare and not line.startswith(" ") and not item:
            in_list = False
        if item:
            in_list, bare = True, line[item.end() :].strip()
        if row:
            yield from (Piece(number, cell.strip()) for cell in bare.strip("|").split("|") if re.search(r"\w", cell))
        elif heading:
            yield Piece(number, bare.lstrip("# "))
        elif bare:
            begun = begun if lines else number
            lines.append(bare)


def syllables(word: str) -> int:
    """Syllables of an English word, by its groups of vowels: a silent e at the end and in "-ed" counts as none."""
    word = re.sub(r"(?<=[^aeiouyl])es?$|(?<=[^aeiouytd])ed$", "", word.lower())
    return max(1, len(_VOWELS.findall(word)))


def measured(text: str) -> Measure:
    """Measure a page."""
    parts = [piece.text for piece in pieces(text)]
    words = [word for part in parts for word in re.findall(r"[A-Za-z']+", part)]
    sentences = sum(max(1, len(_END.findall(part))) for part in parts)
    thousand = max(len(words), 1) / 1000

    def per_thousand(*named: str) -> float:
        return sum(word.lower() in named for word in words) / thousand

    return Measure(
        len(words),
        sum(part.count(";") for part in parts) / thousand,
        per_thousand("of"),
        per_thousand("what"),
        per_thousand("you", "your"),
        206.835 - 1.015 * len(words) / max(sentences, 1) - 84.6 * sum(map(syllables, words)) / max(len(words), 1),
    )


def begins(part: str) -> Iterator[str]:
    """The sentences of a piece that begin with one of `BEGINNINGS`, questions aside."""
    yield from (match[1] for match in _BEGINS.finditer(part) if not match[1].endswith("?"))


def house_words(part: str) -> Iterator[tuple[str, str]]:
    """The house words of a piece, each with the field's."""
    for pattern, instead in _HOUSE.items():
        yield from ((match[0], instead) for match in pattern.finditer(part))


def faults(text: str) -> Iterator[tuple[int, str]]:
    """Line and reason of each place that breaks a rule."""
    found = list(pieces(text))
    for line, part in found:
        for sentence in begins(part):
            yield line, f"begins with {sentence.split()[0]}: {sentence[:60]}"
        for pattern, instead in _HOUSE.items():
            for match in pattern.finditer(part):
                yield line, f'"{match[0]}": write {instead}: {part[max(0, match.start() - 30) : match.end() + 30]}'
    if measured(text).semicolons > SEMICOLONS:
        for line, part in found:
            for match in re.finditer(";", part):
                yield line, f"semicolon: {part[max(0, match.start() - 30) : match.end() + 30]}"


def pages() -> list[Path]:
    """Every document of the repository, except the changelog's older sections and licences."""
    named = (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"))
    folders = (ROOT / "crates", ROOT / "docs", ROOT / ".github")
    return [*named, *(path for folder in folders for path in sorted(folder.rglob("*.md")))]


def main() -> int:
    """Check or measure the named pages, or all."""
    parser = argparse.ArgumentParser(description="Check the language of the documents.")
    parser.add_argument("pages", metavar="PAGE", nargs="*", type=Path, help="all by default")
    parser.add_argument("--measure", action="store_true", help="print how each page reads")
    asked = parser.parse_args()
    broken, newcomers = 0, list[Measure]()
    if asked.measure:
        print(f"{'page':32} {'words':>6} {';':>6} {'of':>6} {'what':>6} {'you':>6} {'ease':>6}")
    for path in asked.pages or pages():
        name, text = path.resolve().relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if asked.measure:
            words, *rest = found_here = measured(text)
            newcomers += [found_here] if name.startswith(NEWCOMERS) else []
            print(f"{name:32} {words:6} " + " ".join(f"{number:6.1f}" for number in rest))
            continue
        found = sorted(set(faults(text)))
        if name not in EXEMPT or asked.pages:
            broken += len(found)
            print("".join(f"{name}:{line}: {reason}\n" for line, reason in found), end="")
        elif not found:
            broken += 1
            print(f"{name}: keeps the rules now; take it off EXEMPT in .ci/prose.py")
    if newcomers:
        of, ease = max(each.of for each in newcomers), min(each.ease for each in newcomers)
        print(f"{len(newcomers)} pages that newcomers read: at most {of:.1f} of (aim: 20), ease at least {ease:.1f} (aim: 60)")
    if broken and not asked.measure:
        print('A document is written in plain English: see "Plain English" in CONTRIBUTING.md.')
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
