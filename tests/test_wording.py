"""The check of `make lint` for comments that begin without a subject."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parent.parent / ".ci" / "wording.py"
PYTHON = '''\
"""Whether a module begins so."""
# A comment that runs on.
# What goes on is no beginning.
number = 1  # Of a value.
other = 2  # As another.
"""As a field."""
text = "# Of no comment"


def function():
    """Return a number.

    Likewise a paragraph.
    """
    # What? A question is none.
    # The values beside ours, over `repeats`, "beside" and beside.py.
    return number  # A segment that was sent again.
'''
RUST = """\
//! Whether a module begins so.

/// A comment that runs on.
/// What goes on is no beginning.
///
/// Likewise a paragraph.
/// The window of the least RTT.
fn function() {} // Of a value.
const TEXT: &str = "http://x // Of no comment";
"""


@pytest.fixture(scope="module")
def wording():
    found = importlib.util.spec_from_file_location("wording", FILE)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "text", "lines"), [("a.py", PYTHON, [1, 4, 5, 6, 13, 16, 17]), ("a.rs", RUST, [1, 6, 7, 8])])
def test_beginnings_without_a_subject_are_found(wording, tmp_path, name, text, lines):
    (tmp_path / name).write_text(text)
    assert sorted(number for number, _ in wording.found(tmp_path / name)) == lines
