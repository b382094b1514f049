"""Completion in shells: the words that may stand in place of the last word of a command line.

Shells ask while somebody waits, so that this imports nothing slow: the commands and the values are in words.json, which `collect` makes
from the commands themselves (`python docs/generate.py`; a test says when it is due). An answer is a line each: a word, a tab and its
meaning, or an order to the shell to complete by itself, `:files SUFFIX...` (any without a suffix) or `:folders`.
"""

from __future__ import annotations

import json
import os
import re
import sys

TYPE_CHECKING = False  # importing typing takes longer than the rest
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Node = Mapping[str, Any]

SHELLS = ("bash", "zsh", "fish")
_HERE = os.path.dirname(__file__)
WORDS = os.path.join(_HERE, "words.json")
"""`commands` (and `options`, `arguments`) at the top and in each command that has some, and `values` that options and arguments name."""


def script(shell: str) -> str:
    """Return the script that makes a shell ask."""
    with open(os.path.join(_HERE, f"dumbbell.{shell}"), encoding="utf-8") as file:
        return file.read()


def answered(arguments: Sequence[str]) -> bool:
    """Print the words that may stand in place of the last word, if the arguments are a shell's: `completion SHELL -- WORD...`.

    The words are those after the name of the program. bash splits them at = and : before it asks, and wants the last part alone: it gives
    the line up to the cursor, and the characters that it splits at.
    """
    shell, words = "".join(arguments[1:2]), arguments[3:]
    if arguments[:1] != ["completion"] or shell not in SHELLS or arguments[2:3] != ["--"] or len(words) < 1 + (shell == "bash"):
        return False
    cut = 0
    if shell == "bash":
        line, breaks = words[:2]
        words = split(line)[1:] or [""]
        cut = max((words[-1].rfind(sign) + 1 for sign in "=:" if sign in breaks), default=0)
    with open(WORDS, encoding="utf-8") as file:
        known = json.load(file)
    found = completions(known, words)
    sys.stdout.write("".join(f"{line if line.startswith(':') else line[cut:]}\n" for line in found))
    return True


def split(line: str) -> list[str]:
    """The words of a line as a shell reads them; the last is empty behind a space, and its quotes may be open."""
    words, quote, inside = [""], "", True
    characters = iter(line)
    for each in characters:
        if not quote and each.isspace():
            inside = False
            continue
        if not inside:
            words.append("")
            inside = True
        if each == quote:
            quote = ""
        elif not quote and each in "'\"":
            quote = each
        elif each == "\\" and quote != "'":
            words[-1] += next(characters, "")
        else:
            words[-1] += each
    return words if inside else [*words, ""]


def completions(known: Node, words: Sequence[str]) -> Iterator[str]:
    """The lines of the answer. `known`: the contents of words.json."""
    *before, last = words
    node, given, used, waiting, ended = known, [], set(), None, False
    for word in before:
        if waiting:
            waiting = None
        elif word == "--" and not ended:
            ended = True
        elif word.startswith("--") and not ended:
            name, sign, _ = word.partition("=")
            used.add(name)
            waiting = None if sign else _values_of(node, name)
        elif "commands" in node:
            if word not in node["commands"]:
                return
            node = node["commands"][word]
        else:
            given.append(word)
    values = known["values"]
    if waiting:
        yield from _all(waiting, last, values, given)
    elif last.startswith("--") and "=" in last and not ended:
        name, _, value = last.partition("=")
        for line in _all(_values_of(node, name) or (), value, values, given):
            yield line if line.startswith(":") else f"{name}={line}"
    elif last.startswith("-") and not ended:
        yield from _options(node, last, used)
    elif "commands" in node:
        yield from (f"{name}\t{each['help']}" for name, each in node["commands"].items() if name.startswith(last))
    else:
        takes = node["arguments"]
        if len(given) < len(takes) or node["endless"]:
            yield from _all(takes[min(len(given), len(takes) - 1)], last, values, given)
        elif not last:
            yield from _options(node, last, used)


def _values_of(node: Node, option: str) -> Sequence[str] | None:
    """Return the values of an option: a list, which may be empty; None if it takes none, or if there is no such option."""
    takes: Sequence[str] | None = node["options"].get(option, {}).get("takes")
    return takes if takes else None if takes is None else [""]


def _options(node: Node, word: str, used: Iterable[str]) -> Iterator[str]:
    """Options that are not there yet, or may be there again."""
    for name, each in node["options"].items():
        if name.startswith(word) and (name not in used or each.get("again")):
            yield f"{name}\t{each['help']}"


def _all(takes: Iterable[str], word: str, values: Node, given: Sequence[str]) -> Iterator[str]:
    """Yield the words that an option or argument takes, each written as itself, or @NAME for values; see below for the suffixes of the
    name."""
    for each in takes:
        if each.startswith(":"):
            yield each
        elif each.startswith("@"):
            yield from _named(each[1:], word, values, given)
        elif each and each.startswith(word):
            yield each


def _named(name: str, word: str, values: Node, given: Sequence[str]) -> Iterator[str]:
    """Yield the values that @NAME stands for: those of that name; for `part` those of the given study.

    NAME, is some of them with commas between, NAME. dotted keys, and NAME= dotted keys with a value.
    """
    before = ""
    if name.endswith(","):
        name, before = name[:-1], word[: word.rfind(",") + 1]
    elif name.endswith("="):
        name = name[:-1]
        key, sign, value = word.partition("=")
        if sign:
            of = values["of"].get(re.sub(r"(?<=\.)\d+(?=\.)", "*", key), ())
            yield from (line if line.startswith(":") else f"{key}={line}" for line in _all(of, value, values, given))
            return
        yield from _steps(values[name], word, "=")
        return
    elif name.endswith("."):
        yield from _steps(values[name[:-1]], word, "")
        return
    found = values[name]
    if name == "part":
        study = given[0].partition("/")[0] if given else ""
        found = found.get(study, {part: text for parts in found.values() for part, text in parts.items()})
    taken = before.split(",")
    for each, text in found.items():
        if each.startswith(word[len(before) :]) and each not in taken:
            yield f"{before}{each}\t{text}"


def _steps(keys: Mapping[str, str], word: str, end: str) -> Iterator[str]:
    """Dotted keys up to the next dot, as folders are completed; numbers stand where any entry of a list may."""
    start = word[: word.rfind(".") + 1]
    asked = re.sub(r"(?<=\.)\d+(?=\.)", "*", start)
    seen = set()
    for key, text in keys.items():
        if not key.startswith(asked):
            continue
        step, dot, _ = key[len(asked) :].partition(".")
        if (start + step).startswith(word) and (step, dot) not in seen:
            seen.add((step, dot))
            yield f"{start}{step}{dot or end}\t{'' if dot else text}"
