"""The page: one HTML document with its styles, the chart library and dumbbell's modules, joined into one script.

The Content-Security-Policy names the hashes of the parts of the document, so that nothing else runs in it and nothing is loaded.
"""

from __future__ import annotations

import hashlib
import html
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

from dumbbell.errors import EnvironmentFault

MODULES = (
    "elements",
    "source",
    "pyramid",
    "numbers",
    "state",
    "filter",
    "lines",
    "cells",
    "meanings",
    "runs",
    "sequence",
    "packet",
    "bands",
    "events",
    "panels",
    "statistics",
    "overview",
    "heatmap",
    "details",
    "reference",
    "main",
)
"""The modules of the page, each after those that it imports."""
LIBRARY = "uPlot.iife.min.js"
LIBRARY_SHA256 = "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"
"""uPlot 1.6.32 as its author released it (MIT, vendor/uPlot-LICENSE)."""
_IMPORT = re.compile(r'^import \{ (.*) \} from "\./(\w+)\.js";$', re.MULTILINE)
_COMMENT = re.compile(r"^\s+|^//.*\n|^/\*\*(?s:.*?)\*/\n", re.MULTILINE)
"""Text of modules that a page can do without: indentation and lines of comments."""
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


def document(title: str, source: Literal["served", "embedded"], data: Mapping[str, bytes]) -> bytes:
    """Return the page. `data`: the embedded data, packed by gzip, by the name under which the page looks for it."""
    styles = _text("vendor/uPlot.min.css") + _text("page/page.css")
    scripts = [_library(), _script()]
    connect = " connect-src 'self';" if source == "served" else ""
    hashed = " ".join(map(_csp_hash, scripts))
    policy = (
        f"default-src 'none'; script-src {hashed}; style-src {_csp_hash(styles)}; img-src data: blob:;{connect} "
        "base-uri 'none'; form-action 'none'"
    )
    found = _text("page/page.html")
    blocks = "\n".join(
        f'<script type="text/plain" id="data-{name}">{b64encode(content).decode()}</script>' for name, content in data.items()
    )
    parts = {
        "POLICY": html.escape(policy),
        "TITLE": html.escape(title),
        "SOURCE": source,
        "STYLES": styles,
        "DATA": blocks,
        "LIBRARY": scripts[0],
        "SCRIPT": scripts[1],
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda place: parts[place[1]], found).encode()


@cache
def _script() -> str:
    """Return dumbbell's modules as one script, each in a scope of its own that returns the module's exports."""
    return "".join(['"use strict";\n', *map(_scope, MODULES)])


def _scope(name: str) -> str:
    text = _text(f"page/{name}.js")
    exported = ", ".join(_EXPORT.findall(text))
    body = _COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub(r"const { \1 } = module_\2;", text)))
    return f"const module_{name} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"


@cache
def _library() -> str:
    """The chart library. Raises `EnvironmentFault` if it is not as it was released."""
    content = files(__package__).joinpath("vendor", LIBRARY).read_bytes()
    if hashlib.sha256(content).hexdigest() != LIBRARY_SHA256:
        raise EnvironmentFault(f"{LIBRARY}: is not as it was released (its SHA-256 differs); expected dumbbell as it was installed")
    return content.decode()


@cache
def _text(path: str) -> str:
    return files(__package__).joinpath(*path.split("/")).read_text(encoding="utf-8")


def _csp_hash(content: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
