"""Drives one end of TCP connections of the real kernel, packet by packet: many cases, one after the other, in one guest (`driver/`)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from dumbbell.engines.kernel.binary import find
from dumbbell.engines.kernel.guest import boot
from dumbbell.engines.kernel.series import DEFAULT
from dumbbell.engines.linux import programs
from dumbbell.engines.linux.hosts import MAC, plenty_of_memory, without_ipv6
from dumbbell.errors import EnvironmentFault

_HERE = Path(__file__).parent
_RMEM, _WMEM = "4096 131072 6291456", "4096 16384 4194304"
"""Receive and send buffers (sysctls tcp_rmem and tcp_wmem) of the end, bytes: as crates/ends/src/end.rs has them."""
_OFFLOADS = {0: "none", 1: "tso"}
"""The pairs of devices, by what the end's TCP makes of segmentation offload."""
_TIME_LIMIT_S = 60.0
_CASE_LIMIT_S = 5.0
"""Host time after which a guest counts as hanging, and what each case adds."""


def run(cases: Iterable[str], name: str = DEFAULT) -> list[list[str]]:
    """Return the lines of the answers of the kernel `name` to each case. A case is lines as `driver/driver.h` describes them.

    Raises `EnvironmentFault`, `BadInput`.
    """
    listed = list(cases)
    binary, program = find(name), programs.compiled("driver", sorted((_HERE / "driver").glob("*.[ch]")))
    with tempfile.TemporaryDirectory(prefix="dumbbell-ends-") as place:
        folder = Path(place)
        shutil.copy(program.path, folder / "driver")
        (folder / "cases").write_text("".join(listed), encoding="ascii")
        for name, lines in {"script": _script(), "end.ip": _end(), "peer.ip": _peer()}.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        boot(binary, folder, timeout_s=_TIME_LIMIT_S + _CASE_LIMIT_S * len(listed))
        answers = _by_case((folder / "answers").read_text(encoding="ascii"))
    if len(answers) != len(listed):
        raise EnvironmentFault(f"the kernel answered {len(answers)} of {len(listed)} cases")
    return answers


def _by_case(text: str) -> list[list[str]]:
    answers: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("case "):
            answers.append([])
        else:
            answers[-1].append(line)
    return answers


def _script() -> Iterator[str]:
    for name in ("end", "peer"):
        yield f"namespace {name}"
        yield from without_ipv6(name)
    yield "run end - ip -batch end.ip"
    yield "run peer - ip -batch peer.ip"
    for number, offload in _OFFLOADS.items():
        yield f"offload end end{number} {offload}"
        yield f"offload peer peer{number} none"
    # Timestamps 2: they are those of the clock, without a random offset for each connection.
    for key, value in {"tcp_no_metrics_save": "1", "tcp_timestamps": "2", "tcp_rmem": _RMEM, "tcp_wmem": _WMEM}.items():
        yield f"sysctl end net.ipv4.{key} {value}"
    yield "sysctl end net.core.txrehash 0"
    yield plenty_of_memory()
    yield "run end - ./driver peer cases answers"


def _end() -> Iterator[str]:
    for number, offload in _OFFLOADS.items():
        yield f"link add end{number} address {MAC} type veth peer name peer{number} address {MAC} netns peer"
        yield f"link set end{number}{' gso_max_segs 1' if offload == 'none' else ''} arp off up"
        yield f"address add 10.0.{number}.1/32 dev end{number}"
        yield f"route add 10.0.{number}.2/32 dev end{number}"


def _peer() -> Iterator[str]:
    for number in _OFFLOADS:
        yield f"link set peer{number} arp off up"
