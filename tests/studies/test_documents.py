"""docs/generate.py rewrites the generated blocks and nothing else."""

import importlib.util
import re
from pathlib import Path

import pytest

from dumbbell.errors import BadInput
from dumbbell.studies import find_part
from dumbbell.studies.folder import open_folder
from dumbbell.studies.reproduction import compare_folder

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rewriting_blocks_twice_changes_nothing(generate, keep, published_runs):
    done = {"sce/one-flow": compare_folder(open_folder(keep(published_runs)))}
    text = "# Head\n<!-- generated sce/one-flow agreement -->\nold\n<!-- end -->\ntail\n"
    text += "<!-- generated oracle/main runs -->\nkept\n<!-- end -->\n"
    once = generate.rewritten(text, done)
    assert once.startswith("# Head\n<!-- generated sce/one-flow agreement -->\n")
    assert "| Throughput (Mbit/s) | 3 % of bandwidth | 240 | 0 | 100.0 % |" in once
    assert "old" not in once
    assert once.endswith("<!-- end -->\ntail\n<!-- generated oracle/main runs -->\nkept\n<!-- end -->\n")
    assert generate.rewritten(once, done) == once


def test_the_kernel_table_shows_kernel_simulator_and_published_values(generate, keep, published_runs):
    published = find_part("sce/one-flow")[1].reference().lookup()
    runs = [run for run in published_runs if run.cell["cc"] == "reno"]
    done = {"sce/one-flow": compare_folder(open_folder(keep(runs)))}
    text = generate.rewritten("<!-- generated sce/one-flow kernel -->\n<!-- end -->\n", done)
    theirs = published[("reno", 10.0, 160.0), "throughput_mbit"]
    assert f"| reno 10 Mbit/s, 160 ms | 7.22 | 7.20 | {theirs:.2f} | {theirs:.2f} |" in text
    theirs = published[("cubic", 100.0, 20.0), "throughput_mbit"]
    assert f"| cubic 100 Mbit/s, 20 ms |  | 94.10 |  | {theirs:.2f} |" in text
    assert len([line for line in text.splitlines() if "Mbit/s, " in line]) == 58


def test_ablations_that_were_not_run_leave_their_block(generate, keep, published_runs):
    done = {"sce/one-flow": compare_folder(open_folder(keep(published_runs[:1])))}
    text = "<!-- generated sce/one-flow ablations -->\nkept\n<!-- end -->\n"
    assert generate.rewritten(text, done) == text


def test_the_documents_use_exactly_the_existing_blocks(generate):
    asked = {match["what"] for path in DOCS.glob("*.md") for match in generate.BLOCK.finditer(path.read_text())}
    assert asked == {*generate.BLOCKS, *generate.BENCHMARKS, "agree", "omissions", "series", "flows", "groups", "ports"}


def anchors(path):
    """Of the headings of a document, as they are linked to."""
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
    text = (DOCS / "limits.md").read_text()
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
