"""docs/generate.py rewrites the generated blocks and nothing else."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support import docs_script

from dumbbell.errors import BadInput
from dumbbell.results.folder import open_folder
from dumbbell.study import find_part
from dumbbell.study.reproduction import compare_folder
from dumbbell_studies.sce import kernel

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def generate():
    return docs_script("generate")


def test_rewriting_blocks_twice_changes_nothing(generate, keep, published_runs):
    done = {"sce/one-flow": compare_folder(open_folder(keep(published_runs)))}
    text = "# Head\n<!-- generated sce/one-flow agreement -->\nold\n<!-- end -->\ntail\n"
    text += "<!-- generated oracle/main runs -->\nkept\n<!-- end -->\n"
    once = generate.rewritten(text, done)
    assert once.startswith("# Head\n<!-- generated sce/one-flow agreement -->\n")
    assert "| Throughput (Mbit/s) | 3 % of bandwidth | 320 | 0 | 100.0 % | ≥ 86 %: met |" in once
    assert "old" not in once
    assert once.endswith("<!-- end -->\ntail\n<!-- generated oracle/main runs -->\nkept\n<!-- end -->\n")
    assert generate.rewritten(once, done) == once


def test_a_table_names_its_simulator_and_another_simulator_makes_it_stale(generate, keep, published_runs):
    runs = [replace(run, engine={"name": "sim", "sources": "0123456789abcdef"}) for run in published_runs]
    done = {"sce/one-flow": compare_folder(open_folder(keep(runs)))}
    text = "<!-- generated sce/one-flow agreement -->\n<!-- end -->\n<!-- generated agree/smoke headline -->\n<!-- end -->\n"
    assert list(generate.stale(text, "0123456789abcdef")) == ["sce/one-flow agreement: simulator not known, not 0123456789"]
    once = generate.rewritten(text, done)
    assert "\nSimulator `0123456789`.\n" in once
    assert generate.rewritten(once, done) == once
    assert not list(generate.stale(once, "0123456789abcdef"))
    assert list(generate.stale(once, "fedcba9876543210")) == ["sce/one-flow agreement: simulator 0123456789, not fedcba9876"]


@pytest.fixture
def beside_kernel(keep, make_run, monkeypatch):
    """A folder of the part kernel with two of its cells, each with both rules, and the kernel's values of these cells and another."""
    values = {
        ("reno", 10.0, 80.0): {"rules_5_1_mbit": 7.64, "rules_6_12_mbit": 7.65},
        ("reno", 10.0, 160.0): {"rules_5_1_mbit": 7.22, "rules_6_12_mbit": 7.20},
        ("cubic", 100.0, 20.0): {"rules_6_12_mbit": 94.10},
    }
    monkeypatch.setattr(kernel, "kernel_throughputs", lambda: values)

    def run(rules, delay, throughput):
        cell = {"implementation": rules, "cc": "reno", "bandwidth_mbit": 10.0, "delay_ms": delay}
        return make_run(cell, throughput, 90.0)

    runs = [run("rules_5_1_mbit", delay, 7.70) for delay in (80.0, 160.0)]
    runs += [run("rules_6_12_mbit", 80.0, 7.66), run("rules_6_12_mbit", 160.0, 7.30)]
    return {"sce/kernel": compare_folder(open_folder(keep(runs, part="kernel")))}


def test_the_kernel_table_shows_kernel_simulator_and_published_values(generate, beside_kernel):
    published = find_part("sce/one-flow")[1].reference().lookup()
    text = generate.rewritten("<!-- generated sce/kernel kernel -->\n<!-- end -->\n", beside_kernel)
    theirs = published[("reno", 10.0, 160.0), "throughput_mbit"]
    assert f"| reno 10 Mbit/s, 160 ms | 7.22 | 7.70 | 7.20 | 7.30 | {theirs:.2f} |" in text
    theirs = published[("cubic", 100.0, 20.0), "throughput_mbit"]
    assert f"| cubic 100 Mbit/s, 20 ms |  |  | 94.10 |  | {theirs:.2f} |" in text
    assert len([line for line in text.splitlines() if "Mbit/s, " in line]) == 3


def test_ours_and_the_published_values_are_compared_with_the_kernel_s(generate, beside_kernel):
    text = generate.rewritten("<!-- generated sce/kernel summary -->\n<!-- end -->\n", beside_kernel)
    assert "| Linux, 5.1 rules | dumbbell, same rules | 2 | 50.0 % | 50.0 % | 2.70 % |" in text
    assert "| Linux 6.12 | dumbbell, same rules | 2 | 100.0 % | 100.0 % | 0.55 % |" in text
    assert "| Linux, 5.1 rules | published | 2 |" in text
    assert "| Linux 6.12 | published | 3 |" in text


def test_the_kernel_s_numbers_have_their_kernel_and_their_day():
    with kernel.FILE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["cc"], float(row["bandwidth_mbit"]), float(row["delay_ms"])) for row in rows} <= set(kernel.cells())
    assert all(re.fullmatch(r"[0-9a-f]{20}", row["kernel"]) and re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]) for row in rows)


def test_ablations_that_were_not_run_leave_their_block(generate, keep, published_runs):
    done = {"sce/one-flow": compare_folder(open_folder(keep(published_runs[:1])))}
    text = "<!-- generated sce/one-flow ablations -->\nkept\n<!-- end -->\n"
    assert generate.rewritten(text, done) == text


def test_the_documents_use_exactly_the_existing_blocks(generate):
    asked = {match["what"] for path in generate.DOCUMENTS for match in generate.BLOCK.finditer(path.read_text())}
    assert asked == {
        "facts",
        *generate.BLOCKS,
        *generate.BENCHMARKS,
        *generate.KEYS,
        *generate.AGREEMENTS,
        *generate.COVERED,
        "bbr3",
        "figures",
        "omissions",
        "series",
        "flows",
        "groups",
        "ports",
        "table",
        "tins",
    }


def anchors(path):
    """The anchors of the headings of a document."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS.rglob("*.md")], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_have_a_target(path):
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_document_lists_what_the_sources_leave_out(generate):
    text = (DOCS / "limits" / "left-out.md").read_text()
    assert "`qdisc/cake/mod`" in text
    assert generate.rewritten(text, {}) == text


def test_the_document_shows_the_recorded_benchmarks(generate):
    text = (DOCS / "performance.md").read_text()
    assert "32 flows, fq_codel, ECN" in text
    assert generate.rewritten(text, {}) == text


def test_the_schema_of_results_stands_in_the_document(generate):
    text = (DOCS / "results.md").read_text()
    assert "| flow/NAME | `cwnd` | packets | gauge | every engine |" in text
    assert generate.rewritten(text, {}) == text


def test_help_rewrites_nothing(generate, capsys):
    with pytest.raises(SystemExit) as stop:
        generate.main(["--help"])
    assert stop.value.code == 0
    assert "DIR" in capsys.readouterr().out


def test_a_folder_without_a_study_is_refused(keep_plain, make_run):
    with pytest.raises(BadInput, match="is not of a study"):
        compare_folder(open_folder(keep_plain([make_run({"cc": "reno"}, 1.0, 10.0)])))
