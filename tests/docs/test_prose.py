"""The checks of the documents' language (.ci/prose.py)."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def prose():
    spec = importlib.util.spec_from_file_location("prose", ROOT / ".ci" / "prose.py")
    module = sys.modules["prose"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Of its runs two are lost.", ["begins with Of"]),
        ("It ends. What is left is stored.", ["begins with What"]),
        ("- As with netem, delays vary.\n", ["begins with As"]),
        ("| key | Whether it is |\n", ["begins with Whether"]),
        ("**What it means**: goodput.", ["begins with What"]),
        ("What does a queue do?", []),
        ("Assume that it is. Offloads are off.", []),
        ("Numbers beside those of the kernel", ['"beside"']),
        ("A run that is refused\nand that is told", ['"is refused"', '"is told"']),
        ("Over five repeats, each repeat of a control", ['"a control"', '"each repeat"', '"repeats"']),
        ("A congestion control, an error bar and a bar chart", []),
        ("Two bars are unmet.", ['"bars"']),
    ],
)
def test_a_rule_finds_what_breaks_it(prose, text, words):
    found = sorted(reason for _, reason in prose.faults(text))
    assert len(found) == len(words)
    assert all(reason.startswith(word) for reason, word in zip(found, sorted(words), strict=True)), found


@pytest.mark.parametrize(
    "text",
    [
        "`what; is` it",
        "```yaml\nof: [a; b]\n```",
        "Text:\n\n    What; beside\n\n    Of\n",
        "<!-- generated a b -->\nWhat; beside\n<!-- end -->",
        "[a page](what-beside.md)",
        "---\nOf: What\n---\n",
        '<a id="what-beside"></a>\n',
    ],
)
def test_code_and_what_is_generated_are_no_prose(prose, text):
    assert list(prose.faults(text)) == []


def test_a_fault_has_its_line(prose):
    text = "# Title\n\n```sh\nx\n```\n\n- one\n- two; [three\n  and](x.md) beside\n\nWhat is.\n"
    assert {line for line, _ in prose.faults(text)} == {8, 11}


def test_few_semicolons_in_many_words_are_allowed(prose):
    assert list(prose.faults("word " * 1000 + "a; b; c")) == []
    assert len(list(prose.faults("word " * 400 + "a; b"))) == 1


def test_reading_ease_falls_with_long_words_and_sentences(prose):
    easy = prose.measured("You run a test. It ends. The queue drops.").ease
    hard = prose.measured("Considerations regarding heterogeneous configurations necessitate characterization of alternatives.").ease
    assert easy > 90 > 0 > hard
    assert [prose.syllables(word) for word in ("queue", "rate", "table", "packets", "delayed", "dropped", "simulator")] == [
        1,
        1,
        2,
        2,
        2,
        1,
        4,
    ]


def test_exempt_pages_are_pages(prose):
    assert {ROOT / name for name in prose.EXEMPT} <= {*prose.pages()}
