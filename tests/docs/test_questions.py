"""Questions of newcomers: a page answers each, and the page is at most two links from the front page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FRONT = DOCS / "index.md"
FAR = 2
QUESTIONS = [
    ("Why does my ping rise when somebody uploads?", "concepts/queues.md", r"everybody waits behind"),
    ("Which queue should I put on my router?", "howto/which-aqm.md", r"fq_codel\*\* and\s+\*\*cake\*\*"),
    ("What is a bandwidth-delay product?", "concepts/bottleneck.md", r"rate times base RTT"),
    ("How do I install it?", "install.md", r"pip install dist/dumbbell"),
    ("How many seeds do I need?", "tutorial.md", r"How many seeds are enough\?"),
    ("How do I run my own congestion control?", "howto/add-a-control.md", r"dumbbell new cc"),
    ("Can I believe the numbers?", "concepts/agreement.md", r"\*\*tolerance\*\*"),
    ("Which real effects does it leave out?", "limits.md", r"## Outside the model"),
    ("How do I read a capture of my own network?", "analyze.md", r"dumbbell analyze capture\.pcap"),
    ("Why does my testbed give other numbers?", "howto/testbed-hides.md", r"## Offloads"),
    ("How do I draw a figure that fits a paper?", "plots.md", r"`one-column`"),
    ("Which keys may a scenario have?", "scenario.md", r"`path\.bottleneck`"),
]


def linked(page):
    """Return the documents that a document links to."""
    links = re.findall(r"\]\(([^)\s#]+\.md)(?:#[^)]*)?\)", page.read_text())
    return {(page.parent / link).resolve() for link in links}


@pytest.fixture(scope="module")
def distance():
    """Document -> fewest links from the front page."""
    found, latest = {FRONT: 0}, {FRONT}
    for links in range(1, FAR + 1):
        latest = {each for page in latest if page.is_relative_to(DOCS) for each in linked(page)} - set(found)
        found |= dict.fromkeys(latest, links)
    return found


@pytest.mark.parametrize(("question", "page", "answer"), QUESTIONS, ids=[page for _, page, _ in QUESTIONS])
def test_a_question_has_an_answer_two_links_away(distance, question, page, answer):
    assert re.search(answer, (DOCS / page).read_text()), question
    assert distance.get(DOCS / page, FAR + 1) <= FAR, question


def test_the_front_page_says_first_what_it_is_for():
    """A visitor decides in ten seconds: the claim and a figure come before anything else, and there is no table."""
    lines = [line for line in FRONT.read_text().splitlines() if line]
    assert lines[1].startswith("**dumbbell shows")
    assert lines[2].startswith("![")
    assert not [line for line in lines if line.startswith("|")]
    assert len(FRONT.read_text().split()) <= 600


def test_the_scenario_of_the_front_page_is_the_one_that_is_drawn():
    from docs import drawings

    (shown,) = re.findall(r'^```yaml title="upload.yaml"\n(.*?)^```', FRONT.read_text(), re.MULTILINE | re.DOTALL)
    readme = (DOCS.parent / "README.md").read_text()
    assert drawings.UPLOAD.strip() == shown.strip()
    assert shown in readme


def test_the_numbers_of_readme_are_those_of_the_pages_of_fidelity():
    readme = (DOCS.parent / "README.md").read_text()
    (share,) = re.findall(r"stochastic ordering, ([\d.]+ %) of the\s+link utilisations of five protocols", readme)
    row = next(line for line in (DOCS / "fidelity" / "ordering.md").read_text().splitlines() if "BIC, CUBIC, STCP, HSTCP, H-TCP" in line)
    assert share in row
    assert "while FAST, SACK and Westwood lie outside" in readme
    rows = (DOCS / "fidelity.md").read_text().partition("## Compared with published studies")[2].partition("\n[")[0]
    studies = len([line for line in rows.splitlines() if line.startswith("| [")])
    words = {4: "four", 5: "five", 6: "six", 7: "seven"}
    for text in (readme, FRONT.read_text()):
        assert f"{words[studies]} published studies" in " ".join(text.split())
