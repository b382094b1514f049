"""Makes the two forms of the interface to congestion controls in shared libraries: a header for C and a module for Rust.

    python docs/interface.py

Both have the structures of `crates/foreign/src/interface.rs` and `crates/sim/src/cc/view.rs`, which are in the layout of C, with what the
sources say of each field. They are written into `dumbbell/templates/cc`, from where an installed dumbbell copies them (`dumbbell new cc`).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VIEW = ROOT / "crates" / "sim" / "src" / "cc" / "view.rs"
INTERFACE = ROOT / "crates" / "foreign" / "src" / "interface.rs"
TARGET = ROOT / "dumbbell" / "templates" / "cc"
STRUCTS = {
    "View": "dumbbell_view",
    "Window": "dumbbell_window",
    "DeliveryRate": "dumbbell_delivery_rate",
    "RateSample": "dumbbell_sample",
    "Lost": "dumbbell_lost",
    "Parameter": "dumbbell_parameter",
    "Emitter": "dumbbell_emitter",
    "Control": "dumbbell_control",
}
"""In the order in which they are written, and what C calls them."""
ENUMS = ("CaState", "Growth")
_SCALARS = {"u64": "uint64_t", "i64": "int64_t", "u32": "uint32_t", "i32": "int32_t", "bool": "bool", "usize": "size_t", "f64": "double"}
_POINTERS = {"*const c_char": "const char *", "*mut c_char": "char *", "*mut c_void": "void *"}
_WIDTH = 100
_ABOUT = "A congestion control of one's own for dumbbell, in a shared library. Made by docs/interface.py; do not edit."


class Item(NamedTuple):
    """A constant, a field or a variant, with its documentation."""

    name: str
    kind: str
    """Its type; of a constant type and value, of a variant the value."""
    doc: str


class Type(NamedTuple):
    """A struct or an enum."""

    name: str
    doc: str
    items: list[Item]


def items(body: str) -> Iterator[Item]:
    """The fields or variants between the braces of a type."""
    doc: list[str] = []
    rest = ""
    for line in map(str.strip, body.splitlines()):
        if line.startswith("///"):
            doc.append(line.removeprefix("///").strip())
            continue
        rest += f" {line}"
        closed = rest.count("(") == rest.count(")") and rest.count("<") == rest.count(">") - rest.count("->")
        if closed and rest.endswith(","):
            # The item in one line.
            rest = re.sub(r",? (?=[)>])", "", re.sub(r"(?<=[(<])\s+", "", re.sub(r"\s+", " ", rest)))
            name, _, kind = rest.strip(" ,").removeprefix("pub ").partition(":" if ":" in rest else "=")
            yield Item(name.strip(), kind.strip(), plain(doc))
            doc, rest = [], ""


def plain(doc: list[str]) -> str:
    """Documentation without what only rustdoc understands: links, and the definitions of links."""
    text = " ".join(line for line in doc if not re.match(r"\[.*\]: ", line)).strip()
    text = re.sub(r"\[`([^`\]]+)`\]\([^)]*\)", lambda found: found[1], text)
    text = re.sub(r"\[([^`\]]+)\]\([^)]*\)", lambda found: found[1], text)
    text = re.sub(r"\[`([^`\]]+)`\]", lambda found: found[1], text)
    return re.sub(r"`?\b(?:CongestionControl|View|Window|Needs|RateSample)::(\w+)`?", r"\1", text).replace("`", "")


def types() -> dict[str, Type]:
    """The structs and enums by name."""
    found = {}
    for path in (VIEW, INTERFACE):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"((?:^(?:///|#\[)[^\n]*\n)+)pub (?:struct|enum) (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            if match[2] in (*STRUCTS, *ENUMS):
                doc = [line[3:].strip() for line in match[1].splitlines() if line.startswith("///")]
                found[match[2]] = Type(match[2], plain(doc), list(items(match[3])))
    return found


def constants() -> list[Item]:
    """The constants of the interface, and the largest threshold."""
    found = []
    for path in (INTERFACE, VIEW):
        for match in re.finditer(r"((?:^///.*\n)+)^pub const (\w+): u32 = (.*);", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.append(Item(match[2], match[3].replace("_", ""), plain([line[3:].strip() for line in match[1].splitlines()])))
    return found


def comment(text: str, indent: str = "", mark: str = "") -> list[str]:
    """A comment of C, or with a mark such as `///` one of Rust."""
    if mark:
        return textwrap.wrap(text, _WIDTH, initial_indent=f"{indent}{mark} ", subsequent_indent=f"{indent}{mark} ")
    lines = textwrap.wrap(text, _WIDTH - 6, initial_indent=f"{indent}/* ", subsequent_indent=f"{indent} * ")
    return [*lines[:-1], f"{lines[-1]} */"]


def c_type(kind: str, name: str) -> str:
    """A declaration of C."""
    if array := re.fullmatch(r"\[(\w+); (\d+)\]", kind):
        return f"{_SCALARS[array[1]]} {name}[{array[2]}]"
    if function := re.fullmatch(r"Option<unsafe extern \"C\" fn\((.*?),?\s*\)(?: -> (.*))?>", kind):
        arguments = [part.partition(":") for part in re.split(r",\s*(?=\w+:)", function[1])]
        inner = ", ".join(c_type(type_.strip(), argument.strip()) for argument, _, type_ in arguments)
        return c_type(function[2], f"(*{name})({inner})") if function[2] else f"void (*{name})({inner})"
    if kind in _POINTERS:
        return f"{_POINTERS[kind]}{name}"
    if kind in ENUMS:
        return f"uint8_t {name}"
    if kind in _SCALARS:
        return f"{_SCALARS[kind]} {name}"
    if kind in STRUCTS:
        return f"struct {STRUCTS[kind]} {name}"
    pointed = re.fullmatch(r"(?:&(mut )?|\*(const|mut) )(\w+)", kind)
    if pointed is None:
        raise ValueError(f"{name}: {kind} is no type that C has a word for")
    constant = "" if pointed[1] or pointed[2] == "mut" else "const "
    return f"{constant}struct {STRUCTS[pointed[3]]} *{name}"


def upper(name: str) -> str:
    """CaState as CA_STATE."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def header() -> str:
    """dumbbell_cc.h."""
    found, lines = types(), [*comment(_ABOUT), "#ifndef DUMBBELL_CC_H", "#define DUMBBELL_CC_H", ""]
    lines += ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for each in constants():
        value = f"({each.kind})" if " " in each.kind else each.kind
        lines += ["", *comment(each.doc), f"#define DUMBBELL_{each.name} {value}"]
    for name in ENUMS:
        lines += ["", *comment(f"{found[name].doc} The field is a uint8_t."), f"enum dumbbell_{upper(name).lower()} {{"]
        for item in found[name].items:
            lines += [*comment(item.doc, "\t"), f"\tDUMBBELL_{upper(name)}_{upper(item.name)} = {item.kind},"]
        lines.append("};")
    for name, c_name in STRUCTS.items():
        lines += ["", *comment(found[name].doc), f"struct {c_name} {{"]
        for item in found[name].items:
            lines += [*comment(item.doc, "\t"), f"\t{c_type(item.kind, item.name)};"]
        lines.append("};")
    sizes = ("control", "view", "window", "sample", "lost")
    filled = [f".{size}_size = sizeof(struct dumbbell_{size})" for size in sizes]
    lines += ["", *comment("How the table begins: the version, and the sizes of the structures.")]
    lines += ["#define DUMBBELL_THIS_INTERFACE \\", "\t.abi = DUMBBELL_ABI, " + ", \\\n\t".join(filled)]
    lines += ["", *comment("What the library exports: its table.")]
    lines += ["const struct dumbbell_control *dumbbell_cc_v1(void);", "", "#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    return "\n".join(lines)


def module() -> str:
    """dumbbell_cc.rs."""
    found, lines = types(), [*comment(_ABOUT, mark="//!"), "#![allow(dead_code)]", "", "use std::ffi::{c_char, c_void};"]
    for each in constants():
        lines += ["", *comment(each.doc, mark="///"), f"pub const {each.name}: u32 = {each.kind};"]
    for name in ENUMS:
        lines += ["", *comment(found[name].doc, mark="///"), "#[repr(u8)]", "#[derive(Clone, Copy, Debug, PartialEq, Eq)]"]
        lines.append(f"pub enum {name} {{")
        for item in found[name].items:
            lines += [*comment(item.doc, "    ", "///"), f"    {item.name} = {item.kind},"]
        lines.append("}")
    for name in STRUCTS:
        lines += ["", *comment(found[name].doc, mark="///"), "#[repr(C)]", f"pub struct {name} {{"]
        for item in found[name].items:
            lines += [*comment(item.doc, "    ", "///"), f"    pub {item.name}: {item.kind},"]
        lines.append("}")
    lines += ["", "// The table is only read.", "unsafe impl Sync for Control {}", ""]
    return "\n".join(lines)


FILES = {"dumbbell_cc.h": header, "dumbbell_cc.rs": module}


def main() -> None:
    """Writes the files."""
    for name, make in FILES.items():
        (TARGET / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
