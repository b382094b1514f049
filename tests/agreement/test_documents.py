"""The blocks of the documents that are generated from a folder of `dumbbell agree`."""

import json
from pathlib import Path

import pytest
from support import docs_script

from dumbbell.agreement import outcome
from dumbbell.errors import BadInput

ROOT = Path(__file__).parents[2]


@pytest.fixture
def generate():
    return docs_script("generate")


def test_a_folder_fills_the_blocks_of_its_set(generate, dumbbell, flavoured, tmp_path, monkeypatch):
    flavoured()
    assert dumbbell("agree", "random", "--seed", "3", "--count", "2", "--starts", "2", "--out", tmp_path / "agree").status == 0
    document = tmp_path / "fidelity.md"
    kept = "<!-- generated agree/standard agree -->\nkept\n<!-- end -->\n"
    document.write_text(
        f"# Head\n<!-- generated agree/random agree -->\nold\n<!-- end -->\n{kept}<!-- generated agree/random headline -->\n<!-- end -->\n"
    )
    monkeypatch.setattr(generate, "DOCUMENTS", (document,))
    generate.main([str(tmp_path / "agree")])
    text = document.read_text()
    assert text.startswith("# Head\n<!-- generated agree/random agree -->\n\nSet random, seed 3: 2 scenarios")
    assert "old" not in text
    assert kept in text
    assert "| goodput (Mbit/s) | 2 | 0.00 % (≤ 0.5 %) |" in text
    assert "In 2 scenarios drawn at random, the simulator's goodput differs from that of Linux 6.12" in text
    assert "by 0.00 % in the median and 0.00 % at the 95th percentile, its mean smoothed RTT by 0.00 % and 0.00 % (seeds 3; " in text
    generate.main([str(tmp_path / "agree")])
    assert document.read_text() == text


def test_the_documents_contain_the_blocks(generate):
    asked = {
        (match["part"], match["what"])
        for path in generate.DOCUMENTS
        for match in generate.BLOCK.finditer(path.read_text())
        if match["part"].startswith("agree/")
    }
    assert asked == {
        ("agree/standard", "agree"),
        ("agree/random", "agree"),
        ("agree/random", "headline"),
        ("agree/controls", "table"),
        ("agree/stability", "steadiness"),
    }


def test_a_folder_of_one_control_fills_its_row(generate, dumbbell, flavoured, tmp_path, monkeypatch):
    flavoured()
    arguments = ("random", "--cc", "bic", "--seed", "3", "--count", "2", "--qdisc", "pfifo", "--no-figures")
    assert dumbbell("agree", *arguments, "--out", tmp_path / "agree").status == 0
    document = tmp_path / "controls.md"
    others = "| reno |" + " kept |" * 9 + "\n| bic |" + " old |" * 9
    document.write_text(f"<!-- generated agree/controls table -->\n| head |\n| --- |\n{others}\n<!-- end -->\n")
    monkeypatch.setattr(generate, "DOCUMENTS", (document,))
    generate.main([str(tmp_path / "agree")])
    rows = [line for line in document.read_text().splitlines() if line.startswith("|")][2:]
    assert rows[0].startswith("| bic | 3 | 2, 2 | 0.00 %, 0.00 % | ")
    assert rows[0].endswith(" | 100.00 % | 100.00 % | 100.00 % |")
    assert rows[1] == "| reno |" + " kept |" * 9
    generate.main([])
    assert [line for line in document.read_text().splitlines() if line.startswith("|")][2:] == rows


@pytest.mark.parametrize(
    ("text", "what"),
    [("{", "cannot be read"), (json.dumps([1]), "is no statement of agreement"), (json.dumps({"set": "random"}), "is no statement")],
)
def test_a_broken_statement_is_reported_in_one_line(tmp_path, text, what):
    (tmp_path / "agree.json").write_text(text)
    with pytest.raises(BadInput, match=rf"agree.json: {what}.*; expected .*dumbbell agree$"):
        outcome.read(tmp_path)
    assert outcome.read(tmp_path / "elsewhere") is None
