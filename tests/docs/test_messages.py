"""The check of the language of messages, help and labels (.ci/messages.py)."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = '''
"""Beside a docstring, which is no message."""
raise BadInput(f"{path}: sent again {count} times; expected none")
heads = ["metric", "ours", "published"]
print(Table("", ["bar"], rows))
name = "beside"
'''
RUST = """
// beside a comment
Flaws::one(FIELD, format_args!("{kind}: is the least \\
    of all"), "no more");
#[cfg(test)]
mod tests { const TEXT: &str = "beside a test"; }
"""
SCRIPT = """
/** beside a comment */
import { el } from "./elements.js"; // beside
const hover = `ours ${number} of ${total}`;
"""
SCENARIO = "# What to do\n# beside\nname: a # of the least\n"


@pytest.fixture(scope="module")
def messages():
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        spec = importlib.util.spec_from_file_location("messages", ROOT / ".ci" / "messages.py")
        module = sys.modules["messages"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / ".ci"))
    return module


@pytest.mark.parametrize(
    ("reader", "source", "words"),
    [
        ("of_python", PYTHON, [(3, '"sent again"'), (4, '"ours"'), (5, '"bar"')]),
        ("of_rust", RUST, [(3, '"the least"')]),
        ("of_script", SCRIPT, [(4, '"ours"')]),
        ("of_scenario", SCENARIO, [(1, '"beside"'), (1, "begins with What"), (3, '"the least"')]),
    ],
)
def test_texts_of_a_source_are_found_with_their_lines(messages, reader, source, words):
    found = sorted((line, fault) for line, text in getattr(messages, reader)(source) for fault in messages.faults(messages.Text("", text)))
    assert [line for line, _ in found] == [line for line, _ in words]
    assert all(fault.startswith(word) for (_, fault), (_, word) in zip(found, words, strict=True)), found


def test_help_has_no_semicolon_and_a_message_may_have_one(messages):
    assert [*messages.faults(messages.Text("", "no such file; expected a file"))] == []
    assert len([*messages.faults(messages.Text("", "Runs at a time; all by default.", True))]) == 1


def test_the_help_of_every_command_and_option_and_the_meaning_of_every_key_is_read(messages):
    places = {each.place for each in messages.of_help()}
    assert {"dumbbell run --help", "dumbbell plot --by", "dumbbell kernel build --with"} <= places
    meanings = [each.text for each in messages.of_schema()]
    assert len(meanings) > 400
    assert any(text.startswith("Base RTT") for text in meanings)


def test_all_texts_keep_the_rules(messages, capsys):
    assert messages.main() == 0, capsys.readouterr().out
