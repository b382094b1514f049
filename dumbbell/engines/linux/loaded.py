"""Files of the user's own that the kernel loads: congestion controls as BPF programs by bpftool, modules by insmod, before any traffic.

bpftool registers what is in the section `.struct_ops` of an object (bpftool-struct_ops(8)). It stays registered when bpftool has ended.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dumbbell.plan import Plan

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH of the agent."""


class Loader(NamedTuple):
    """The program that loads files of a kind."""

    words: str
    """Its command, before the file."""
    ending: str
    """The end of the file's name."""
    package: str
    """The package of Debian and Ubuntu that contains the program."""


_REGISTER = "bpftool-struct_ops"
_REGISTERS = """\
file=$1; shift
bpftool struct_ops register "$file" && exit
for name; do grep -qw -- "$name" /proc/sys/net/ipv4/tcp_available_congestion_control || exit; done
"""
"""The kernel may refuse some of the congestion controls in an object, such as one of bpf_dctcp in its selftests. The script succeeds if the
kernel has those that the flows use."""
_LOADERS: Mapping[str, Loader] = {
    "struct_ops": Loader("bpftool struct_ops register", "o", "bpftool"),
    "module": Loader("insmod", "ko", "kmod"),
}


def _found(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield kind, path and SHA-256 of each file: first modules of the scenario, then congestion controls in the order of the flows."""
    seen = {each.sha256 for each in plan.modules}
    yield from (("module", each.path, each.sha256) for each in plan.modules)
    for _, _, workload in plan.over_tcp:
        for kind in _LOADERS:
            if (sha256 := workload.cc.get(kind)) is not None and sha256 not in seen:
                seen.add(sha256)
                yield kind, workload.cc["path"], sha256


def _name(kind: str, sha256: str) -> str:
    return f"loaded-{sha256[:16]}.{_LOADERS[kind].ending}"


def files(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return the files for the guest's folder by name: path and SHA-256."""
    return {_name(kind, sha256): (path, sha256) for kind, path, sha256 in _found(plan)}


def scripts(plan: Plan) -> dict[str, str]:
    """Return the scripts that load them, by name."""
    return {_REGISTER: _REGISTERS} if any(kind == "struct_ops" for kind, *_ in _found(plan)) else {}


def lines(plan: Plan) -> Iterator[str]:
    """Yield the agent's lines that load them."""
    for kind, _, sha256 in _found(plan):
        names = sorted({workload.cc["kind"] for _, _, workload in plan.over_tcp if workload.cc.get(kind) == sha256})
        words = f"sh {_REGISTER}" if kind == "struct_ops" else _LOADERS[kind].words
        yield " ".join(("run init -", words, _name(kind, sha256), *(names if kind == "struct_ops" else ())))


def missing(plan: Plan) -> list[str]:
    """Return a line for each program that loads one of them and is not installed."""
    wanted = {kind: path for kind, path, _ in _found(plan)}
    found = []
    for kind, path in wanted.items():
        loader = _LOADERS[kind]
        if shutil.which(program := loader.words.split()[0], path=_PATH) is None:
            name = Path(path).name
            found.append(f"{program} not found, which loads {name}; on Debian or Ubuntu: apt-get install {loader.package}")
    return found
