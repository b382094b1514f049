"""The page as a file: what it holds, its size, and that the same folder gives the same bytes."""

import json
import math
import os
import re
import subprocess
import sys
import zlib
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256

import pytest
from explorer import stores

from dumbbell.explorer import page as page_module
from dumbbell.explorer.export import Extent, export
from dumbbell.explorer.runs import Runs
from dumbbell.results import load
from dumbbell.scenario import Scenario


def parts(page):
    """Return the embedded parts of a page, by name."""
    found = re.findall(rb'<script type="text/plain" id="data-([^"]+)">([^<]*)</script>', page)
    return {name.decode(): zlib.decompress(b64decode(content), 31) for name, content in found}


def details(page):
    """The facts of the runs in a page."""
    return [detail for name, content in parts(page).items() if name.startswith("details-") for detail in json.loads(content)]


def test_a_small_study_is_a_small_page(made):
    assert made("sweep")[1].stat().st_size <= 400_000


def test_a_page_of_a_million_points_is_small(made):
    folder, file = made("million")
    (detail,) = details(file.read_bytes())
    shown = [each for each in detail["series"] if not each.get("left_out") and not each["idle"]]
    assert len(shown) == 19
    assert sum(each["samples"] for each in shown) > 1_000_000
    assert not any("reduced" in each for each in shown)
    assert file.stat().st_size <= 1_300_000
    assert len(export(Runs(folder, "million"), Extent(everything=True, points=None)).content) > file.stat().st_size


def test_the_same_folder_gives_the_same_bytes(made):
    """In another process too, whose sets have another order."""
    folder, file = made("sweep")
    again = file.with_name("again.html")
    code = (
        "import sys; from pathlib import Path; from dumbbell.explorer.export import export; from dumbbell.explorer.runs import Runs\n"
        "Path(sys.argv[2]).write_bytes(export(Runs(Path(sys.argv[1]), 'sweep')).content)"
    )
    subprocess.run([sys.executable, "-c", code, folder, again], env={**os.environ, "PYTHONHASHSEED": "7"}, check=True)
    assert again.read_bytes() == file.read_bytes()


def test_the_page_names_the_hashes_of_its_scripts_and_no_address(made):
    text = made("small")[1].read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src &#x27;none&#x27;")
    assert "connect-src" not in policy
    assert policy.count("sha256-") == 3
    loaded = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?(https?:|//)', text)
    assert loaded == []


def test_names_do_not_end_the_elements_they_are_in(tmp_path):
    content = export(Runs(stores.hostile(tmp_path / "runs"), stores.HOSTILE)).content
    assert stores.HOSTILE.encode() not in content
    assert content.count(b"</script>") == content.count(b"<script")


def test_runs_that_do_not_fit_are_listed_without_series(made, monkeypatch):
    folder, _ = made("sweep")
    monkeypatch.setattr("dumbbell.explorer.export.MOST_BYTES", 715_000)  # of which 700,000 are for facts
    content = export(Runs(folder, "sweep")).content
    found = details(content)
    kept = [any(not each.get("left_out") for each in detail["series"]) for detail in found]
    assert len(found) == 12
    assert kept == sorted(kept, reverse=True)
    assert 0 < sum(kept) < 12
    assert export(Runs(folder, "sweep"))[1:] == (12, sum(kept), "runs")
    everything = details(export(Runs(folder, "sweep"), Extent(everything=True, points=None)).content)
    assert not any(each.get("left_out") for detail in everything for each in detail["series"])


@pytest.mark.parametrize("limit", [200_000, 290_000, 330_000])
def test_a_page_is_no_larger_than_it_may_be(made, limit):
    folder, _ = made("sweep")
    page = export(Runs(folder, "sweep"), Extent(most_bytes=limit))
    assert len(page.content) <= limit or page.with_series == 1
    assert page.runs == 12
    assert (page.with_series == 12) == (limit > 200_000)


def test_series_with_more_points_are_reduced_and_say_so(made):
    content = export(Runs(made("million")[0], "million"), replace(Extent(), points=2000)).content
    found = [each for each in details(content)[0]["series"] if not each.get("left_out") and not each["idle"]]
    assert all(0 < each["reduced"] <= 2000 for each in found if each["samples"] > 2000)


def test_facts_of_a_run_are_those_of_the_store(made):
    folder, file = made("small")
    (run,) = load(folder)
    (detail,) = details(file.read_bytes())
    assert (detail["key"], detail["digest"], detail["status"]) == (run.key, run.digest, run.status)
    assert detail["flows"] == run.flows.rows()
    assert Scenario(**detail["scenario"]) == Scenario(name=run.name, **run.scenario)
    assert "null" not in json.dumps(detail["scenario"])
    assert all(came == went for _, _, came, _, went in detail["conservation"])
    assert len(detail["conservation"]) >= 6
    index = json.loads(parts(file.read_bytes())["index"])
    shown = {name: values[0] for name, values in index["runs"]["metrics"].items()}
    there = {name: value for name, value in run.summary.run.items() if not math.isnan(value)}
    assert there.items() <= shown.items()
    assert shown["one.goodput_mbit"] == run.summary.groups["one"]["goodput_mbit"]


def test_a_changed_library_is_refused(monkeypatch):
    monkeypatch.setattr(page_module, "LIBRARY_SHA256", sha256(b"another").hexdigest())
    page_module._library.cache_clear()
    with pytest.raises(page_module.EnvironmentFault, match="is not as it was released"):
        page_module._library()


def test_modules_import_only_what_is_before_them_and_exported():
    exported = {}
    for name in page_module.MODULES:
        text = page_module._text(f"page/{name}.js")
        for names, module in page_module._IMPORT.findall(text):
            assert set(names.split(", ")) <= exported[module], f"{name} imports {names} from {module}"
            body = text.replace(names, "", 1)
            assert all(re.search(rf"\b{each}\b", body) for each in names.split(", ")), f"{name} does not use all of {names}"
        exported[name] = set(page_module._EXPORT.findall(text))
        assert len(text.splitlines()) < 500
        assert "innerHTML" not in text
