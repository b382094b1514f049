"""Text in tables is text to whatever reads them: spreadsheets, Markdown, LaTeX. Drawn texts are of recorded seeds."""

import csv
import io
import random
import re

import pytest
from markdown_it import MarkdownIt

from dumbbell.comparing.tables import Table
from dumbbell.escaping import csv_cell, csv_text, in_latex, in_markdown

WIDE = "\uff1d\uff0b\uff0d\uff20"
"""Signs that spreadsheets in East Asia take for =, +, - and @."""
SIGNS = f"ab19 .,;:'\"|`*_~$#^%&<>()[]{{}}\\/!=+-@\t\n\r\x1b\x9b\u202e±µ{WIDE}"
PIECES = [*SIGNS, "``", "](", "&amp;", "&#x3c;", "<b>", "</td>", "http://x", "\\input"]
MARKDOWN = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])


def drawn(seed, count=500):
    """Texts of pieces that mean something to one of the formats."""
    dice = random.Random(seed)
    return ["".join(dice.choices(PIECES, k=dice.randint(1, 9))) for _ in range(count)]


def is_steering(text):
    return not all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("@SUM(1)", "'@SUM(1)"),
        ("+1+cmd|x", "'+1+cmd|x"),
        ("-2+3+E5", "'-2+3+E5"),
        ("\uff1d1", "'\uff1d1"),
        ("a;=1", "a;'=1"),
        ("a\n=1", "a\n'=1"),
        ("\t=1", "\\t=1"),
        ("a\r=1", "a\\r=1"),
        ("\x1b]0;pwn\x07", "\\x1b]0;pwn\\x07"),
        ("-1.5", "-1.5"),
        ("-1.5e-07", "-1.5e-07"),
        ("+2 %", "+2 %"),
        ("-inf", "-inf"),
        ("-", "-"),
        ("-0.3±0.1", "-0.3±0.1"),
        ("+0.1 to +0.4", "+0.1 to +0.4"),
        ("-3 [-4, -2]", "-3 [-4, -2]"),
        ("flow/=1", "flow/=1"),
    ],
)
def test_a_cell_is_a_number_or_no_formula(text, cell):
    assert csv_cell(text) == cell


def test_no_drawn_cell_is_a_formula_or_steers_a_terminal():
    texts = drawn(1)
    written = csv_text([[text, "x"] for text in texts])
    assert not is_steering(written)
    rows = list(csv.reader(io.StringIO(written), strict=True))
    assert [row[1] for row in rows] == ["x"] * len(texts)
    for row in rows:
        for part in re.split("[;\n]", row[0]):
            assert not part.startswith(("=", "@", *WIDE))
            assert part[:1] not in ("+", "-") or not re.search("[A-Za-z=]", re.sub("[0-9]e[-+]?[0-9]|to", "", part))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b\n| c", "a\\|b \\| c"),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("[x](javascript:1)", "[x\\](javascript:1)"),
        ("![x](http://evil/x.png)", "![x\\](http://evil/x.png)"),
        ("`a|b`", "`a\\|b`"),
        ("``a`<img>```", "\\`\\`a\\`&lt;img>\\`\\`\\`"),
        ("\\`<img>`", "\\\\`<img>`"),
        ("&lt;", "&amp;lt;"),
        ("9.41 [9.38, 9.43]", "9.41 [9.38, 9.43]"),
        ("goodput_mbit < 5 & more", "goodput_mbit &lt; 5 & more"),
    ],
)
def test_markdown_takes_nothing_for_markup(text, cell):
    assert in_markdown(text) == cell


def test_drawn_texts_are_what_a_reader_of_markdown_shows():
    texts = drawn(2)
    written = Table("t", ["name", "x"], [[text, "x"] for text in texts]).markdown()
    assert not is_steering(written)
    inline = [token for token in MARKDOWN.parse(written) if token.type == "inline"]
    cells = inline[3::2]
    assert len(cells) == len(texts)
    for text, cell in zip(texts, cells, strict=True):
        assert {token.type for token in cell.children} <= {"text", "code_inline", "text_special"}
        shown = "".join(token.content for token in cell.children)
        plain = " ".join("".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text).splitlines())
        assert re.sub("[` ]", "", shown) == re.sub("[` ]", "", plain)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("[1em] *", "{[}1em{]} {*}"),
        ('<a|b> "c"', r"\textless{}a\textbar{}b\textgreater{} ''c''"),
        ("\x1b[31m", r"\textbackslash{}x1b{[}31m"),
        ("a\nb", "a b"),
    ],
)
def test_latex_takes_nothing_for_a_command(text, written):
    assert in_latex(text) == written


def test_drawn_texts_have_no_character_left_that_latex_interprets():
    known = re.compile(r"\\text\w+\{\}|\$\\(?:pm|mu)\$|\\[&%$#_{}]|\{[\[\]*]\}|''")
    for text in drawn(3):
        written = in_latex(text)
        assert written.isprintable()
        assert not set(known.sub("", written)) & set('\\&%$#_{}~^<>|"[]*')
