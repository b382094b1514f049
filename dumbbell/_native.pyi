"""The simulator, compiled (crates/bindings)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

class Table(TypedDict):
    entity: str
    columns: list[str]
    t_ns: bytes
    values: bytes

class Rows(TypedDict):
    names: list[str]
    columns: list[str]
    values: bytes

class Output(TypedDict):
    captures: dict[str, bytes]
    tables: list[Table]
    flows: Rows
    groups: Rows
    ports: Rows
    conservation: list[str]
    warnings: list[str]
    events: int
    delivered_packets: int

class Connection(TypedDict):
    """`forward` and `reverse`: the names of `dumbbell.trace.FACTS`, in their order."""

    source: tuple[str, int]
    destination: tuple[str, int]
    closed: bool
    forward: dict[str, float | int | bool | None]
    reverse: dict[str, float | int | bool | None]

class PairTally(TypedDict):
    tcp_packets: int
    other_packets: int
    left_out: dict[str, int]
    options_cut: int
    options_invalid: int
    earlier_than_previous: int
    cut_short: int | None
    damage: str | None

class Tally(PairTally):
    negative_rtts: int

class Analysis:
    """The TCP connections of a capture, in order of their first packet. `source` is the client."""

    def __len__(self) -> int: ...
    def connections(self, start: int, stop: int) -> list[Connection]: ...
    def tally(self) -> Tally: ...

class Pairs(TypedDict):
    source: tuple[str, int]
    destination: tuple[str, int]
    t_ns: bytes
    rtt_ns: bytes
    left_out: int

class Passage(TypedDict):
    source: tuple[str, int]
    destination: tuple[str, int]
    packets: int
    lost: int
    added: int
    delays_ns: bytes

SOURCE_HASH: str
"""SHA-256 of the simulator's sources and of the versions of what it is built from."""
TRACE_HASH: str
"""The same of what reads and measures captures."""

class Refused(ValueError):
    """A plan that cannot be run. `args[0]` is a JSON list of all that is wrong: `{place: {kind, index}, field, what, expected}`."""

class Misbehaved(RuntimeError):
    """A congestion control of the user's own did what no control may do: the line names it, the time and what it did."""

class Stop:
    """Ends the runs that are given it."""

    def set(self) -> None:
        """They end soon, in whatever thread they are, with `Stopped`."""

class Stopped(Exception):
    """A run ended before its time, since `Stop.set` was called."""

class Checked:
    """A plan that can be run, as `check` read it."""

def simulate(
    plan: str | Checked,
    libraries: Mapping[str, str] | None = None,
    functions: Mapping[int, tuple[Any, ...]] | None = None,
    stop: Stop | None = None,
) -> Output:
    """Runs a plan: JSON, or what `check` made of it.

    `t_ns` is int64 and `values` float64 (row-major, NaN where there is none), little-endian.

    `libraries`: of the libraries with congestion controls that it may load, the path of each by its SHA-256, which is what the plan has of
    it; they run in this process, and may take it with them. `functions`: those in Python by number: name, what makes one for a connection,
    the class of what it is told, and whether it sets a rate. `stop` ends it.
    `Refused`: what cannot be run, a library that may not be loaded among it. ValueError: not a plan. `Misbehaved`: see there.
    `Stopped`: see there. RuntimeError: the simulator failed.
    """

def analyze(file: bytes | Path, sink: Callable[[Mapping[str, bytes]], None] | None = None) -> Analysis:
    """TCP connections of a capture: its contents or its path, up to where it is damaged. `sink` is called with what up to 100,000 packets
    at a time did: columns of int64, and `kind` of uint16 (see crates/bindings/src/events.rs), little-endian; the least int64 stands for
    what there is not. ValueError: no capture. OSError: it cannot be read.
    """

def spp(left: bytes | Path, right: bytes | Path) -> tuple[list[Pairs], list[Passage], list[PairTally]]:
    """RTTs by synthetic packet pairs between two captures, by direction of data; what befell the packets of each direction; and the tally
    of each capture. `t_ns`, `rtt_ns` and `delays_ns` are int64, little-endian. Errors as `analyze`.
    """

def playback(
    chunk_ns: int, start_at_ns: int, chunks: int | None, start_ns: int, ends_ns: list[int], end_ns: int, at_ns: list[int]
) -> tuple[int | None, int, int, list[float]]:
    """What a player came to by `end_ns` whose chunks came at `ends_ns`: when playing began (ns after the start, or None), stalls, ns of
    stalls, and how much was in the buffer at each of the times `at_ns`, s."""

def jitter_table(name: str) -> list[int]:
    """The table of netem's distribution `normal`, `pareto` or `paretonormal`, in 8192ths of a deviation. ValueError: another name."""

def check(plan: str) -> Checked:
    """Checks a plan (JSON) without running it, and returns it as `simulate` takes it.

    `Refused`: what cannot be run. ValueError: not a plan."""

def draws(distribution: str, seed: int, component: str, count: int) -> bytes:
    """Numbers drawn from a distribution (JSON, as a plan has it) for a component of a run: uint64, little-endian.

    ValueError: it is no distribution.
    """

def arrivals(plan: str, workload: int) -> bytes:
    """The connections that a workload of a plan (JSON) makes: of each its time (ns), payload (bytes), class, and ports (the source port in
    the upper half), uint64, little-endian. Errors as `check`.
    """

def group_rows(plan: str, workload: int, came: bytes) -> Rows:
    """Rows of the table of groups for these connections. `came`: of each, uint64 in the machine's order, how long it took (ns; the largest
    number: it is not complete), payload read, packets sent, segments sent again. Errors as `check`.
    """

def ends_play(options: str) -> str:
    """Lets random peers play against the simulator's ends. `options` (JSON): `Options` of crates/ends/src/play.rs. Returns a JSON
    list of `[case, answers]`. ValueError: no such options."""

def ends_replay(cases: str) -> str:
    """Drives the simulator's ends by cases (a JSON list; `Case` of crates/ends/src/case.rs). Returns a JSON list: `{Ok: answers}`
    for each case, or `{Err: {action, what}}` if no peer of this end can have sent it. ValueError: not cases."""

def ends_seed(numbers: list[int], choices: int) -> int | None:
    """The least `control_seed` of a case with which the end's congestion control draws these numbers first, each below `choices`. None:
    there is none among those that are tried."""

def capabilities() -> str:
    """What can be simulated, as JSON."""

def schema() -> str:
    """What the series and tables of a run hold, as JSON."""
