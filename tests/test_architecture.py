"""The lists of files to touch in docs/architecture.md, compared with the files that name an existing member."""

import ast
import io
import re
import tokenize
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SUFFIXES = (".py", ".rs", ".c", ".h")
# These may name any member: they choose from them, as scenarios do.
USERS = ("dumbbell/conform/", "dumbbell_studies/", "dumbbell/study/calibration.py", "dumbbell/agreement/", "dumbbell/bench/")


class Kind(NamedTuple):
    """Something that can be added."""

    members: dict[str, str]
    """Existing members: NAME in the list of files -> how code names it."""
    users: tuple[str, ...] = USERS
    """Folders in which any member may be named."""


MOST_FILES = 6
KINDS = {
    "a congestion control": Kind({"westwood": r"\b[Ww]estwood\b", "bbr": r"\b(bbr|Bbr)\b"}),
    "a queue discipline": Kind({"fq_pie": r"\bfq_pie\b|\bFqPie", "sfq": r"\bsfq\b|\bSfq(?![a-z])"}),
    "a medium": Kind(
        {
            name: rf"\bAnyMedium::{name.title()}\b|\b{name.title()}\({name.title()}\)|\bimpl Medium for {name.title()}\b"
            for name in ("spread", "card")
        }
    ),
    "a shared medium": Kind({"shared_line": r"\bSharedLine\b|\bShaperSpec::Shared\b|\n    Shared \{"}),
    "a transport": Kind(
        {
            "bsd": r"\b[Bb]sd\b",
            "linux": r"\b(linux::(sender|receiver)|linux::\{receiver, sender\}|Self::Linux)\b|mod linux\b",
        },
        users=(
            *("dumbbell/", "crates/fuzz/", "crates/ends/", "crates/sim/src/probe/", "crates/sim/src/simulation/"),
            *("crates/sim/src/traffic/session.rs", "crates/sim/src/traffic/mod.rs"),
        ),
    ),
    "a stack": Kind({"linux-5.1-sce": r"\"linux-5\.1-sce\"", "freebsd-9": r"\"freebsd-9\""}),
    # TEACUP is also a program, whose files are written.
    "a study": Kind({"oracle": r"\boracle\b", "teacup": r"\bteacup\b"}, users=("dumbbell/exchange/", "dumbbell/cli/overview.py")),
    "an engine": Kind(
        {"kernel": r"engines[./]kernel\b|[\"']kernel[\"']|[ ]kernel,[ \n]", "sim": r"engines[./]sim\b|[\"']sim[\"']|import sim\b"},
        # The testbed's laboratory boots the kernel that the engine of that name has built, and a cache has both, and the agent.
        # The word is a value of `rmem` and `wmem`, too, and `dumbbell regress` is about kernels.
        users=(
            *(*USERS, "dumbbell/engines/testbed/", "dumbbell/engines/linux/cache.py"),
            # Comparing two engines names both, and a part of a study runs on a kernel and on the simulator.
            *("dumbbell/cli/compare/", "dumbbell/study/", "dumbbell/engines/linux/collect.py"),
            *("dumbbell/scenario/tcp.py", "dumbbell/scenario/check.py", "dumbbell/plan/workloads.py"),
        ),
    ),
    "a workload": Kind(
        {
            "udp": r"\b(traffic|AnyTraffic)::[^;]*\bUdp\b|\b(import|class) Udp\b|\b_udp\b|\bDATAGRAMS\b",
            "exchange": r"\bExchangeSpec\b|\b(traffic|AnyTraffic)::[^;]*\bExchange\b|\bclass Exchange\b|\b_exchange\b|\bEXCHANGE\b",
            "transfers": r"\bTransfersSpec\b|\btransfers::|\b(import|class) Transfers\b",
        },
    ),
}


def files_listed(heading):
    """The paths in backquotes that begin the entries of a section's list."""
    section = TEXT.split(f"### Adding {heading}\n", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^- `([^`]+)`", section, re.MULTILINE)


def code_of(path):
    """A source file without comments, documentation and tests."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        prose = {
            line
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for line in range(node.lineno, node.end_lineno + 1)
        }
        lines = [""] + ["" if number in prose else line for number, line in enumerate(text.splitlines(), start=1)]
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0]] = lines[token.start[0]][: token.start[1]]
        return "\n".join(lines)
    text = text.split("#[cfg(test)]\nmod tests {")[0]
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def code():
    """The code of the packages and of the crates, by path, and what is registered."""
    found = {}
    for folder in ("crates", "dumbbell", "dumbbell_studies"):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            is_test = re.search(r"/(tests?|benches|examples)/|/(\w+_)?tests?\.rs$|/(properties|lab)\.rs$", name)
            if path.suffix in SUFFIXES and not re.search("/(target|generated)/", name) and not is_test:
                found[name] = code_of(path)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found["pyproject.toml"] = "\n".join(project["entry-points"]["dumbbell.studies"])
    return found


def is_listed(name, member, listed):
    """True if a path is one of those listed, or below one that is a folder. A file NAME.rs may be a folder as well."""
    for path in listed:
        pattern = re.escape(path).replace("NAME", re.escape(member))
        if path.endswith("/"):
            pattern += ".*"
        elif path.endswith("NAME.rs"):
            pattern = pattern.removesuffix(r"\.rs") + r"(\.rs|/.*)"
        if re.fullmatch(pattern, name):
            return True
    return False


@pytest.mark.parametrize("heading", KINDS)
def test_few_files_are_listed_and_there(heading):
    listed = files_listed(heading)
    assert 1 <= len(listed) <= MOST_FILES
    for path in listed:
        found = [ROOT / path.replace("NAME", member) for member in KINDS[heading].members]
        assert any(each.exists() or each.with_suffix("").is_dir() for each in found), path


@pytest.mark.parametrize(("heading", "member"), [(heading, member) for heading, kind in KINDS.items() for member in kind.members])
def test_the_files_that_name_a_member_are_those_listed(heading, member, code):
    kind, listed = KINDS[heading], files_listed(heading)
    found = {name for name, text in code.items() if re.search(kind.members[member], text) and not name.startswith(kind.users)}
    assert found
    assert not {name for name in found if not is_listed(name, member, listed)}


@pytest.mark.parametrize("heading", KINDS)
def test_every_file_listed_names_a_member(heading, code):
    kind = KINDS[heading]
    for path in files_listed(heading):
        assert any(
            re.search(pattern, text) and is_listed(name, member, [path])
            for member, pattern in kind.members.items()
            for name, text in code.items()
        ), path


def test_comments_and_tests_name_nothing(tmp_path):
    for name, text in {
        "a.py": '"""Fq."""\nx = 1  # fq\ndef f():\n    """Fq."""\n    return "pie"\n',
        "a.rs": "//! Fq.\nfn f() { pie() } // fq\n/* fq */\n#[cfg(test)]\nmod tests {\n fq(); }\n",
    }.items():
        (tmp_path / name).write_text(text)
        code = code_of(tmp_path / name)
        assert "pie" in code
        assert "fq" not in code.lower()
