"""The JSON Schema of scenario files, and the page of every key that is made from it."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support import docs_script

from dumbbell.cli.maintain.schema import names
from dumbbell.documents.source import parse, read
from dumbbell.scenario import Bottleneck, Scenario, ScenarioError
from dumbbell.scenario.scenario import KIND
from dumbbell.scenario.schema import meanings, schema
from dumbbell.scenario.sweep import Sweep

ROOT = Path(__file__).parents[2]
SCHEMA = schema(names())
GOOD = """\
name: good
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: fq_codel}}
flows: [{cc: cubic, start: 1s}, {cc: {kind: cubic, hystart: off}, stack: linux-3.9, start: {first: 1s, jitter: 5ms}}]
duration: 2s
"""


def problems(text):
    """Return the places, in JSON's notation, in which the schema finds errors."""
    return [error.json_path for error in Draft202012Validator(SCHEMA).iter_errors(parse(text, "s.yaml", KIND)[0])]


def test_it_is_a_schema_of_its_draft(dumbbell):
    answer = dumbbell("schema")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert found == SCHEMA
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(found)


@pytest.mark.parametrize("file", sorted((ROOT / "examples").rglob("*.yaml")), ids=lambda file: file.stem)
def test_every_example_is_valid(file):
    assert list(Draft202012Validator(SCHEMA).iter_errors(read(file, KIND)[0])) == []


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ("duration: 2s", "duration: 2", "$.duration"),
        ("duration: 2s", "duration: 2 parsecs", "$.duration"),
        ("rtt: 20ms", "rtt: -20ms", "$.path.rtt"),
        ("rate: 10mbit", "rate: 10Mbps", "$.path"),
        ("duration: 2s", "duration: 2s\ncc: reno", "$"),
        ("qdisc: fq_codel", "qdisc: fq_codle", "$.path"),
        ("qdisc: fq_codel", "qdisc: {kind: fq_codel, limmit: 3p}", "$.path"),
        ("start: 1s}, ", "count: 0}, ", "$.flows[0].count"),
        ("name: good\n", "", "$"),
        ("duration: 2s", "duration: 2s\nbackground: [{kind: udpp, rate: 1mbit}]", "$.background[0]"),
        ("duration: 2s", "duration: 2s\nsweep: {path.rtt: 5ms}", "$.sweep"),
    ],
)
def test_what_a_key_alone_can_be_wrong_in_is_found(before, after, where):
    assert problems(GOOD) == []
    text = GOOD.replace(before, after, 1)
    assert text != GOOD
    with pytest.raises(ScenarioError):
        Scenario.from_text(text)
    assert [path for path in problems(text) if path.startswith(where)]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("10mbit", "10MBIT"),
        GOOD.replace("10mbit", "' .5 gbit '"),
        GOOD + "sweep: {grid: {path.rtt: [5ms], seed: [1, 2]}}\n",
        GOOD + "sweep: {path.rtt: [5ms], zip: {seed: [1], duration: [3s]}, cells: [{path.delay.extra: 1ms}]}\n",
        GOOD + "hosts: {left: {egress: {rate: 1gbit, qdisc: {kind: cake, sce: 7}}}}\n",
        GOOD.replace("qdisc: fq_codel", "qdisc: {kind: pie, variant: 2013}"),
        GOOD + "background: [{rate: 1mbit}, {kind: exchange, cc: reno, request: 1B, response: 2MiB}]\n",
    ],
)
def test_what_scenarios_may_hold_is_valid(text):
    Scenario.from_text(text)
    assert problems(text) == []


def test_keys_are_described():
    described = SCHEMA["$defs"]["Bottleneck"]["properties"]
    assert described["rate"]["description"] == meanings(Bottleneck)["rate"]
    assert "counted in Ethernet frames" in meanings(Bottleneck)["rate"]
    assert SCHEMA["properties"]["sample"]["default"] == "100ms"
    assert "reno" in SCHEMA["$defs"]["Cc"]["anyOf"][0]["examples"]


@pytest.fixture(scope="module")
def keys():
    return docs_script("keys")


def page(name):
    """Return a page of keys."""
    return ROOT / "docs" / ("scenario.md" if name == "scenario" else f"scenario/{name}.md")


def test_the_pages_of_keys_are_up_to_date(keys):
    assert keys.units() in page("scenario").read_text(encoding="utf-8")
    for name in keys.PAGES:
        assert keys.page_of_keys(name) in page(name).read_text(encoding="utf-8"), "python docs/generate.py rewrites the pages"


def test_each_page_of_keys_has_a_link_and_a_scenario(keys):
    first = page("scenario").read_text(encoding="utf-8")
    for name in keys.PAGES:
        text = page(name).read_text(encoding="utf-8")
        assert name == "scenario" or f"(scenario/{name}.md)" in first
        (sample,) = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        Scenario.from_text(sample)


def test_every_mapping_and_every_key_is_on_one_page(keys):
    models = keys.models()
    listed = [model for _, models_ in keys.PAGES.values() for model in models_]
    reached = {model for model in keys._places(models) if keys.OF_TIMES not in model}
    assert sorted(listed) == sorted(reached)
    anchors = [anchor for name in keys.PAGES for anchor in re.findall(r'<a id="([^"]+)"', keys.page_of_keys(name))]
    assert len(set(anchors)) == len(anchors)
    assert {"path.bottleneck.rate", "path.bottleneck.qdisc.cake.rtt", "flows.cc", "background.ping.interval", "paths.NAME.forward"} <= {
        *anchors
    }


def test_every_key_has_a_meaning_and_an_example(keys):
    models = keys.models()
    each = [(model, key, node) for model, mapping in models.items() for key, node in keys.properties(mapping).items()]
    assert [(model, key) for model, key, node in each if "const" not in node and not keys._meaning(models, node).strip()] == []
    rows = [row for name in keys.PAGES for row in keys.page_of_keys(name).splitlines() if row.startswith("| <a")]
    assert [row for row in rows if "For example" not in row] == []


def test_old_links_to_keys_lead_to_their_pages():
    """All keys were on one page until 1.0.0. Its anchors are in the table of pages, or are those of keys."""
    text = page("scenario").read_text(encoding="utf-8")
    for anchor in (
        "path",
        "pathdelay",
        "pathbottleneckqdisc-pathforwardqdisc-kind-cake",
        "flowshost-backgroundhost",
        "sweepsample",
        "keys",
    ):
        assert f'<a id="{anchor}"' in text


def test_the_examples_of_the_page_are_valid(keys):
    assert [(key, text) for key, node, text in keys.examples() if list(checked(node, text, key))] == []


def checked(node, text, key):
    """Return the errors that the schema of a key finds in an example of it."""
    data = parse(f"{key}: {text}", "example", KIND)[0][key]
    return Draft202012Validator({**node, "$defs": SCHEMA["$defs"]}).iter_errors(data)


def test_the_page_lists_each_value_once_and_each_key_that_a_model_takes(keys):
    texts = {name: keys.page_of_keys(name) for name in keys.PAGES}
    rows = [line.split(" | ") for text in texts.values() for line in text.splitlines() if line.startswith("| <a")]
    for key, value, *_ in rows:
        for way in value.partition(". ")[0].split(" or "):
            several = way.split(", ")
            assert len(set(several)) == len(several), key
    swept = texts["sweep"].partition("## `sweep`\n")[2].partition("\n## ")[0]
    assert [line.split("`")[1] for line in swept.splitlines() if line.startswith("| <a")] == list(Sweep.model_fields)
