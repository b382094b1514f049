"""The simulator, compiled (crates/bindings)."""

from typing import TypedDict

class Table(TypedDict):
    entity: str
    columns: list[tuple[str, str]]
    t_ns: bytes
    values: bytes

class Output(TypedDict):
    tables: list[Table]
    counters: list[tuple[str, list[tuple[str, int]]]]
    conservation: list[str]
    events: int
    delivered_packets: int

SOURCE_HASH: str
"""SHA-256 of the simulator's sources and of the versions of what it is built from."""

def simulate(network: str) -> Output:
    """Runs a network (JSON). `t_ns` is int64 and `values` float64 (row-major, one row a time), little-endian.

    ValueError: not a network, or not one that can be run. RuntimeError: the simulator failed.
    """

def check(network: str) -> None:
    """Checks a network (JSON) without running it. ValueError: not a network, or not one that can be run."""

def capabilities() -> str:
    """What can be simulated, as JSON."""
