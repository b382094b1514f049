"""Several folders as one."""

import pytest
from explorer import stores

from dumbbell.explorer.export import export
from dumbbell.explorer.runs import Runs
from dumbbell.explorer.several import Several


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two folders with three runs, of which one is in both."""
    place = tmp_path_factory.mktemp("several")
    stores.small(place / "one", sweep={"path.rtt": ["10ms", "20ms"]})
    stores.small(place / "two", sweep={"path.rtt": ["20ms", "40ms"]})
    return place / "one", place / "two"


def test_runs_of_all_folders_are_in_the_table_once(folders):
    own = [Runs(folder, folder.name) for folder in folders]
    several = Several({folder.name: each for folder, each in zip(folders, own, strict=True)})
    runs = several.index()["runs"]
    assert runs["coordinates"] == {"folder": ["one", "one", "two"], "path.rtt": ["10ms", "20ms", "40ms"]}
    first, second, last = runs["facts"]["key"]
    assert [first, second, last] == [*own[0].keys(), own[1].keys()[1]]
    assert several.keys() == [first, last, second]  # in turns, so that an export keeps series of each folder
    assert several.detail(last) == own[1].detail(last)
    assert runs["metrics"]["drops"][2] == own[1].index()["runs"]["metrics"]["drops"][1]


def test_folders_lie_over_each_other_in_the_page(folders, opened, tmp_path):
    several = Several({folder.name: Runs(folder, folder.name) for folder in folders})
    (tmp_path / "page.html").write_bytes(export(several).content)
    page = opened((tmp_path / "page.html").as_uri())
    page.fill("#filter", "folder=two")
    assert page.locator("#runs .note").text_content() == "1 of 3 runs"
    assert page.faults == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ONE", "ONE"], "given twice; expected different folders"),
        (["ONE", "FILE"], "a capture cannot be shown with other places; expected the capture alone"),
    ],
)
def test_what_cannot_be_one_is_refused(dumbbell, folders, tmp_path, arguments, said):
    (tmp_path / "it.pcap").write_bytes(b"")
    places = {"ONE": folders[0], "FILE": tmp_path / "it.pcap"}
    answer = dumbbell("view", *(places[each] for each in arguments), "--export", tmp_path / "page.html")
    assert answer.status == 2
    assert said in answer.err


def test_two_folders_are_exported(dumbbell, folders, tmp_path):
    assert dumbbell("view", *folders, "--export", tmp_path / "page.html").status == 0
    assert b"<title>one, two" in (tmp_path / "page.html").read_bytes()
