"""Requests and responses, and transfers, between two hosts of the kernel, packet by packet: what our connections are compared with.

`python tests/engines/kernel/exchanges.py` writes the recordings in `data/` again; it needs the built kernel. Each is one connection over
10 Mbit/s and 20 ms without offload, cubic, a pfifo in each direction. A row is a packet as a host's device sees it: what it sends when it
sends it, what it receives when it arrives. Sequence numbers begin with 0 at the SYN in either direction, the window is in bytes, and
`sack` has the blocks. Hosts compute in no time, but each reading of the clock takes 256 ns, the kernel's own in a system call too: what an
application sends in answer to a packet leaves some microseconds after it.
"""

import csv
import dataclasses
import io
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from waiting import HANG_S

from dumbbell.engines.kernel import binary, guest
from dumbbell.engines.kernel.capabilities import capabilities
from dumbbell.engines.linux import compile_plan
from dumbbell.plan import make
from dumbbell.scenario import Scenario
from dumbbell.trace.passive import EPOCH_NS

DATA = Path(__file__).parent / "data"
CLIENT_PORT, SERVER_PORT = 10_000, 30_000
_FLAGS = ((0x02, "S"), (0x01, "F"), (0x04, "R"), (0x08, "P"), (0x40, "E"), (0x80, "W"), (0x10, "A"))
_SNAPLEN = 128


@dataclasses.dataclass(frozen=True)
class Case:
    """The exchange, and the queue's limit in packets."""

    request: int
    response: int
    count: int
    think_ns: int
    limit: int

    def line(self, cc: str = "cubic") -> str:
        """The exchange as the agent's script has it, but for its ends."""
        return f"exchange {{ends}} {cc} 0 0 from {self.request} {self.response} {self.count} {self.think_ns}"


@dataclasses.dataclass(frozen=True)
class Transfer:
    """Bytes that the client sends before it closes, and the queue's limit in packets."""

    size: int
    limit: int

    def line(self) -> str:
        """The transfer as the agent's script has it, but for its ends."""
        return f"tcp {{ends}} cubic {self.size} 0 0 close"


CASES: dict[str, Case | Transfer] = {
    "exchange-once": Case(100, 30_000, 1, 0, 100),
    "exchange-repeated": Case(20_000, 200_000, 5, 10_000_000, 100),
    "exchange-losses": Case(20_000, 200_000, 2, 10_000_000, 5),
    "transfer-one": Transfer(1000, 100),
    "transfer-window": Transfer(10 * 1448, 100),
    "transfer-odd": Transfer(11 * 1448, 100),
    "transfer-waits": Transfer(100_000, 100),
    "transfer-losses": Transfer(300_000, 5),
}
"""Recordings by the name of their file."""


@dataclasses.dataclass(frozen=True)
class Packet:
    """A TCP packet at a host's device."""

    host: str
    """`client` or `server`."""
    t_ns: int
    sender: str
    """`client` or `server`."""
    seq: int
    """Sequence number of its first byte, relative to the SYN's."""
    len: int
    """Bytes of data."""
    flags: str
    ack: int
    """Relative to the other direction's SYN; -1 without the flag."""
    window: int
    sack: str
    """`first-last,...` relative as `ack`, in their order in the option."""


def files(limit: int, sample: str = "0s") -> dict[str, str]:
    """A guest's files for one cubic flow from left to right with captures, 4 s long, as the engine writes them."""
    queue = {"rate": "10mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": f"{limit}p"}}
    settings = {"name": "exchange", "path": {"rtt": "20ms", "bottleneck": queue}, "flows": [{"cc": "cubic", "host": {"offload": "none"}}]}
    scenario = Scenario.model_validate({**settings, "duration": "4s", "sample": sample, "capture": True, "engine": "kernel"})
    (resolved,) = scenario.expand()
    return dict(compile_plan(make(resolved, capabilities()).plan).files)


def replaced(script: str, line: str, stop_ns: int = -1) -> str:
    """A script with another line for its flow; `{ends}` in it stands for the words that all flows have."""
    (old,) = (words for words in script.splitlines() if words.startswith("tcp "))
    ends = " ".join((*old.split()[1:8], str(stop_ns)))
    return script.replace(old, line.format(ends=ends))


def record(kernel: binary.Binary, folder: Path, case: Case | Transfer) -> list[Packet]:
    """The packets of a connection, by host and time; the folder keeps what the agent wrote."""
    for name, text in files(case.limit).items():
        (folder / name).write_text(replaced(text, case.line()) if name == "script" else text)
    guest.boot(kernel, folder, timeout_s=HANG_S)
    return read(folder)


def read(folder: Path) -> list[Packet]:
    """The packets that a guest captured."""
    hosts = (("client", "left.pcap"), ("server", "right.pcap"))
    return [packet for host, name in hosts for packet in _packets(host, (folder / name).read_bytes())]


def _packets(host: str, capture: bytes) -> Iterator[Packet]:
    first: dict[str, int] = {}
    scales: dict[str, int] = {}
    at = 24
    while at < len(capture):
        seconds, ns, captured, _ = struct.unpack_from("<IIII", capture, at)
        frame = capture[at + 16 : at + 16 + captured]
        at += 16 + captured
        size = struct.unpack_from(">H", frame, 16)[0]
        source, _, seq, ack, offset, flags, window = struct.unpack_from(">HHIIBBH", frame, 34)
        header = offset >> 4 << 2
        sender, other = ("client", "server") if source == CLIENT_PORT else ("server", "client")
        options = dict(_options(frame[54 : 34 + header]))
        if flags & 0x02:
            first[sender], scales[sender] = seq, options[3][0]
        blocks = struct.iter_unpack(">II", options.get(5, b""))
        yield Packet(
            host,
            seconds * 10**9 + ns - EPOCH_NS,
            sender,
            _relative(seq, first[sender]),
            size - 20 - header,
            "".join(letter for bit, letter in _FLAGS if flags & bit),
            _relative(ack, first[other]) if flags & 0x10 else -1,
            window if flags & 0x02 else window << scales[sender],
            ",".join("-".join(str(_relative(edge, first[other])) for edge in block) for block in blocks),
        )


def _relative(number: int, first: int) -> int:
    return (number - first) % (1 << 32)


def _options(part: bytes) -> Iterator[tuple[int, bytes]]:
    while part and part[0] != 0:
        if part[0] == 1:
            part = part[1:]
        else:
            yield part[0], part[2 : part[1]]
            part = part[part[1] :]


def text(packets: list[Packet]) -> str:
    """The recording as CSV."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(field.name for field in dataclasses.fields(Packet))
    writer.writerows(dataclasses.astuple(packet) for packet in packets)
    return made.getvalue()


def recorded(name: str) -> list[Packet]:
    """A recording in `data/`."""
    with (DATA / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {field.name: field.type for field in dataclasses.fields(Packet)}
    return [Packet(**{key: kinds[key](value) for key, value in row.items()}) for row in rows]


def main() -> None:
    """Writes all recordings."""
    kernel = binary.find()
    DATA.mkdir(exist_ok=True)
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            packets = record(kernel, Path(folder), case)
        (DATA / f"{name}.csv").write_text(text(packets))
        print(f"{name}: {len(packets)} packets at both hosts", file=sys.stderr)


if __name__ == "__main__":
    main()
