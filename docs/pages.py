"""Runs the commands of README, the tutorial and the how-to pages, and writes what they print and draw into them.

    python docs/pages.py [--laboratory] [PAGE...]

It does what a page says, in a folder of its own, from the first line to the last:

- a block ```` ```yaml title="NAME" ```` (of any language) is a file of that name;
- a block ```` ```console ```` has commands behind `$ `, each before what it prints to stdout; a command that fails ends the page. A block
  with the title `in a laboratory` needs `--laboratory`, because it takes root and a built kernel;
- a block ```` ```python ```` without a title is run as a script would be, and prints into a ```` ```text ```` block behind it;
- `<!-- figure FILE -->` before an image says which file the image is; commands below it may draw the file.

Blocks of other kinds (`sh`) are for the reader alone. Same sources, same bytes, but for what depends on the machine (`VOLATILE`).
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from dumbbell import cli

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", DOCS / "tutorial.md", *sorted(DOCS.glob("howto/*.md")))
COLOURS = 64
"""Colours of figures: lines need few; a palette makes the files a third as large."""
PIECE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$'
    r"|^<!-- figure (?P<figure>\S+) -->\n!\[[^\]]*\]\((?P<image>[^)]+)\)",
    re.DOTALL | re.MULTILINE,
)
LABORATORY = "in a laboratory"
"""Title of a block of commands that not every machine can do."""
VOLATILE = (re.compile(r"\b[0-9a-f]{10}\b"), re.compile(r"about .*"))
"""Output that differs from machine to machine, or with every change of the simulator's sources: keys of runs, and the estimates of
`plan`."""


@dataclass
class Written:
    """A page as its commands make it."""

    text: str = ""
    figures: dict[Path, bytes] = field(default_factory=dict)
    """Images of the page, as SVG or PNG."""


def stable(text: str) -> str:
    """A page without what may differ."""
    for pattern in VOLATILE:
        text = pattern.sub("*", text)
    return text


def written(page: Path, laboratory: bool = False) -> Written:
    """Do what a page says, in the working folder."""
    text = page.read_text(encoding="utf-8")
    done = Written()
    end, printed = 0, ""
    later: dict[Path, Path] = {}
    scope: dict[str, object] = {"__name__": "__main__"}
    for piece in PIECE.finditer(text):
        language, body, new = piece["language"], piece["text"], piece[0]
        if piece["figure"]:
            image, drawn = (page.parent / piece["image"]).resolve(), Path(piece["figure"])
            if drawn.exists():
                done.figures[image] = kept(drawn)
            elif laboratory or LABORATORY not in text:
                later[image] = drawn
        elif language == "console":
            if piece["title"] != LABORATORY or laboratory:
                new = new.replace(body, session(body))
        elif piece["title"]:
            Path(piece["title"]).parent.mkdir(parents=True, exist_ok=True)
            Path(piece["title"]).write_text(body, encoding="utf-8")
        elif language == "python":
            printed = script(body, scope)
        elif language == "text" and printed:
            new, printed = f"```text\n{printed}```", ""
        done.text += text[end : piece.start()] + new
        end = piece.end()
    done.text += text[end:]
    for image, drawn in later.items():
        done.figures[image] = kept(drawn)
    return done


def session(body: str) -> str:
    """A block of commands with what each prints now, an empty line between them."""
    answers = []
    for command in re.findall(r"^\$ (.*(?:\\\n.*)*)$", body, re.MULTILINE):
        printed = re.sub(r"[ \t]+$", "", output(command), flags=re.MULTILINE).strip("\n")
        answers.append(f"$ {command}\n" + (f"{printed}\n" if printed else ""))
    return "\n".join(answers)


def output(command: str) -> str:
    """Return the output of a command. Raises `RuntimeError` with all its messages if it fails."""
    command, _, then = command.partition(" | ")
    words = [name for word in shlex.split(command, comments=True) for name in sorted(glob.glob(word)) or [word]]
    if words[0] == "dumbbell" and words[1] != "testbed" and not {">", "&&"} & set(words):
        status, out, err = here(words)
    else:
        status, out, err = elsewhere(command)
    if then and not status:
        status, out, err = elsewhere(then, out)
    if status:
        raise RuntimeError(f"{command}: exit status {status}\n{out}{err}")
    return out


def elsewhere(command: str, told: str = "") -> tuple[object, str, str]:
    """Run a command in a shell: exit status, stdout, stderr."""
    ended = subprocess.run(command, shell=True, input=told, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def here(words: Sequence[str]) -> tuple[object, str, str]:
    """Run dumbbell in this process, which has loaded its libraries already: exit status, stdout, stderr."""
    before, sys.argv = sys.argv, list(words)
    status: object = 0
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            cli.main()
        except SystemExit as stop:
            status = stop.code
        finally:
            sys.argv = before
    return status, out.getvalue(), err.getvalue()


def script(body: str, scope: dict[str, object]) -> str:
    """Return the output of a page's Python; it goes on where the block before it ended."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(body, "page", "exec"), scope)
    return out.getvalue().rstrip("\n") + "\n"


def kept(drawn: Path) -> bytes:
    """A figure as the page has it: SVG as it was drawn, PNG with few colours."""
    return drawn.read_bytes() if drawn.suffix == ".svg" else palette(drawn.read_bytes())


def palette(png: bytes) -> bytes:
    """A figure with few colours."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A working folder for a page, in which `dumbbell` is this one and writes lines of the usual width, whatever the terminal is."""
    from dumbbell.comparing.tables import WIDTH

    changed = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": str(WIDTH)}
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made), mock.patch.dict(os.environ, changed):
        yield Path(made)


def update(page: Path, laboratory: bool) -> None:
    """Rewrite a page and its figures; what differs only as it may stays."""
    with folder():
        done = written(page, laboratory)
    if stable(done.text) != stable(page.read_text(encoding="utf-8")):
        page.write_text(done.text, encoding="utf-8")
    for path, figure in done.figures.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the named pages, or all."""
    parser = argparse.ArgumentParser(description="Do what the pages say, and write what comes of it into them.")
    parser.add_argument("names", metavar="PAGE", nargs="*", help="all by default")
    parser.add_argument("--laboratory", action="store_true", help="also what takes a laboratory of guests: root and a built kernel")
    asked = parser.parse_args(arguments)
    known: Mapping[str, Path] = {path.stem: path for path in PAGES}
    if unknown := [name for name in asked.names if name not in known]:
        sys.exit(f"{', '.join(unknown)}: no such page; expected some of {', '.join(known)}")
    for name in asked.names or known:
        update(known[name], asked.laboratory)


if __name__ == "__main__":
    main()
