"""The commands and the figures of docs/plots.md."""

import re
import shlex
from pathlib import Path

import pytest
from support import docs_script

import dumbbell as package

DOCS = Path(__file__).parents[3] / "docs"
COMMANDS = re.findall(r"^    dumbbell ((?:plot|table) results/queues.*?)(?: +#.*)?$", (DOCS / "plots.md").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def queues(tmp_path_factory):
    """The sweep of the page, shorter."""
    out = tmp_path_factory.mktemp("document") / "queues"
    text = (DOCS / "figures" / "plots.yaml").read_text().replace("duration: 20s", "duration: 1s").replace("repeat: 6", "repeat: 2")
    return package.run(package.Scenario.from_text(text), out, workers=1), out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_work(dumbbell, queues, tmp_path, command):
    words = shlex.split(command.replace("results/queues", str(queues[1])))
    if words[0] == "plot":
        words += ["--out", tmp_path, "--format", "png", "--size", "one-column"]
    assert dumbbell(*words).status == 0
    assert words[0] == "table" or len(list(tmp_path.iterdir())) == 1


def test_the_figures_of_the_page_are_those_of_its_script(queues):
    text, plots = (DOCS / "plots.md").read_text(), docs_script("plots")
    for name, asked in plots.ASKED.items():
        assert f"figures/{name}.png" in text
        assert (DOCS / "figures" / f"{name}.png").is_file()
        assert package.plot(queues[0], **asked).axes
