"""The simulator, compiled (crates/bindings)."""

from typing import TypedDict

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
    events: int
    delivered_packets: int

class Direction(TypedDict):
    packets: int
    data_packets: int
    bytes: int
    unique_bytes: int
    retransmitted_packets: int
    retransmitted_bytes: int
    out_of_order_packets: int
    sack_packets: int
    first_ns: int
    last_ns: int
    throughput_bps: float
    t_ns: bytes
    rtt_ns: bytes

class Connection(TypedDict):
    source: tuple[str, int]
    destination: tuple[str, int]
    forward: Direction
    reverse: Direction

class Analysis(TypedDict):
    connections: list[Connection]
    tcp_packets: int
    other_packets: int
    cut_short: bool

class Pairs(TypedDict):
    source: tuple[str, int]
    destination: tuple[str, int]
    t_ns: bytes
    rtt_ns: bytes

SOURCE_HASH: str
"""SHA-256 of the simulator's sources and of the versions of what it is built from."""
TRACE_HASH: str
"""The same of what reads and measures captures."""

class Refused(ValueError):
    """A plan that cannot be run. `args[0]` is a JSON list of all that is wrong: `{place: {kind, index}, field, what, expected}`."""

def simulate(plan: str) -> Output:
    """Runs a plan (JSON). `t_ns` is int64 and `values` float64 (row-major, NaN where there is none), little-endian.

    `Refused`: what cannot be run. ValueError: not a plan. RuntimeError: the simulator failed.
    """

def analyze(file: bytes) -> Analysis:
    """TCP connections of a capture file. `source` is the client; `t_ns` and `rtt_ns` are int64, little-endian. ValueError: no capture."""

def spp(left: bytes, right: bytes) -> list[Pairs]:
    """RTTs by synthetic packet pairs between two capture files, by direction of data. ValueError: no captures."""

def check(plan: str) -> None:
    """Checks a plan (JSON) without running it. `Refused`: what cannot be run. ValueError: not a plan."""

def capabilities() -> str:
    """What can be simulated, as JSON."""

def schema() -> str:
    """What the series and tables of a run hold, as JSON."""
