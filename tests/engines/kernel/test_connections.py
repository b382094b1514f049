"""Connections that the agent opens from either end, closes, and uses in both directions."""

import itertools

import numpy as np
import pytest
from waiting import HANG_S

from dumbbell.engines.kernel import guest
from dumbbell.errors import EnvironmentFault

from .exchanges import CASES, Case, files, read, record, recorded, replaced

LIMIT = 20
"""Limit of the queue, packets: less than a transfer of SIZE fills."""
SIZE = 400_000
CLOCK_NS = 5_000
"""By which times may differ: reading the clock takes time, the kernel's own readings too."""


@pytest.fixture
def boot(real, tmp_path):
    """A function that runs a guest whose flow is a line of the test's; what it leaves."""
    numbers = itertools.count()

    def run(line, stop_ns=-1, sample="0s"):
        folder = tmp_path / f"{next(numbers)}"
        folder.mkdir()
        for name, text in files(LIMIT, sample).items():
            (folder / name).write_text(replaced(text, line, stop_ns) if name == "script" else text)
        guest.boot(real, folder, timeout_s=HANG_S)
        return folder

    return run


def counters(folder):
    """The flow's counters, after a look at what the ports were given and what became of it."""
    flow, queues, arrived = {}, {}, {}
    for line in (folder / "counters").read_text().splitlines():
        kind, *words = line.split()
        if kind == "flow":
            flow[words[1]] = int(words[2])
        elif kind == "queue":
            queues[words[0]] = [int(word) for word in words[1:]]
        elif kind == "hop":
            arrived[words[1]] = arrived.get(words[1], 0) + int(words[2])
    assert len(queues) == 4
    for device, (packets, _, drops, queued, *_) in queues.items():
        assert arrived[device] == packets + drops + queued, device
    return flow


def transfer(*options, size=SIZE):
    return " ".join(("tcp {ends} cubic", str(size), "0 0", *options))


def seen(packets, **fields):
    """Return the packets that have these values."""
    return [packet for packet in packets if all(getattr(packet, key) == value for key, value in fields.items())]


# --- closing ---------------------------------------------------------------------------------------------------------


def test_closing_changes_no_packet_before_the_fin(boot):
    open_, closed = boot(transfer()), boot(transfer("close"))
    before, after = read(open_), read(closed)
    for host in ("client", "server"):
        one, other = seen(before, host=host), seen(after, host=host)
        first = next(i for i, packet in enumerate(other) if "F" in packet.flags)
        assert first > SIZE / 1448
        assert one[:first] == other[:first]
        assert not any("F" in packet.flags for packet in one)
    was, now = counters(open_), counters(closed)
    assert now["closed_ns"] > now["completed_ns"] == was["completed_ns"]
    assert was.keys() == now.keys() - {"closed_ns"}
    same = was.keys() - {"delivered", "acks_arrived", "sent_packets", "arrived_packets"}
    assert now["sent_packets"] == was["sent_packets"] + 1, "the answer to the server's FIN"
    assert now["arrived_packets"] == was["arrived_packets"] + 1, "the same, which comes after the server has closed"
    assert {key: was[key] for key in same} == {key: now[key] for key in same}
    assert now["received"] == SIZE


def test_both_ends_send_a_fin_that_is_acknowledged(boot):
    packets = seen(read(boot(transfer("close"))), host="client")
    (ours,) = [packet for packet in packets if "F" in packet.flags and packet.sender == "client"]
    (theirs,) = [packet for packet in packets if "F" in packet.flags and packet.sender == "server"]
    assert ours.seq + ours.len == SIZE + 1
    assert theirs.ack == SIZE + 2
    assert (packets[-1].sender, packets[-1].ack, packets[-1].flags) == ("client", theirs.seq + 1, "A")
    assert not any("R" in packet.flags for packet in packets)


def test_samples_reach_the_end_of_the_transfer_and_stay_there(boot):
    folder = boot(transfer("close"), sample="100ms")
    rows = np.fromfile(folder / "flow-0", dtype="<f8").reshape(-1, 11)
    assert rows[-1, 0] == 4e9
    after = rows[rows[:, 0] > counters(folder)["closed_ns"]]
    assert len(after) > 30
    assert np.all(after[:, 9] == SIZE)
    assert np.all(after[:, 1:] == after[0, 1:])
    assert after[0, 5] == 0  # nothing in flight


def test_a_transfer_of_nothing(boot):
    folder = boot(transfer("close", size=0))
    assert [packet.flags for packet in seen(read(folder), host="client")] == ["S", "SA", "A", "FA", "FA", "A"]
    assert counters(folder)["closed_ns"] == pytest.approx(40e6, abs=1e6)


# --- opening ---------------------------------------------------------------------------------------------------------


def test_the_receiver_may_open(boot):
    usual, turned = boot(transfer("close")), boot(transfer("close", "opened-by-receiver"))
    packets = seen(read(turned), host="client")
    assert [(packet.sender, packet.flags) for packet in packets[:3]] == [("server", "S"), ("client", "SA"), ("server", "A")]
    data = [packet for packet in packets if packet.len]
    assert {packet.sender for packet in data} == {"client"}
    # The receiver's SYN takes half a round trip, our answer and its acknowledgement a whole one.
    assert data[0].t_ns == pytest.approx(30e6, abs=1e6)
    assert seen(read(usual), host="client")[3].t_ns == pytest.approx(20e6, abs=1e6)
    counted = counters(turned)
    assert counted["received"] == SIZE
    assert counted["closed_ns"] > counted["completed_ns"] == pytest.approx(counters(usual)["completed_ns"] + 10e6, rel=0.1)


def test_there_is_no_sample_of_a_sender_that_nobody_has_connected_to(boot):
    folder = boot(transfer("opened-by-receiver"), sample="5ms")
    rows = np.fromfile(folder / "flow-0", dtype="<f8").reshape(-1, 11)
    assert rows[0, 0] == 35e6
    assert rows[0, 1] == 10


# --- requests and responses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_a_connection_is_as_recorded(real, folder, name):
    packets, before = record(real, folder, CASES[name]), recorded(name)
    assert [(p.host, p.sender, p.seq, p.len, p.flags, p.ack, p.window, p.sack) for p in packets] == [
        (p.host, p.sender, p.seq, p.len, p.flags, p.ack, p.window, p.sack) for p in before
    ]
    assert [packet.t_ns for packet in packets] == pytest.approx([packet.t_ns for packet in before], abs=CLOCK_NS)
    if isinstance(CASES[name], Case):
        check_exchange(folder, CASES[name], packets)


def check_exchange(folder, case, packets):
    """Check that the agent's counts agree with its packets."""
    counted = counters(folder)
    times = [tuple(map(int, line.split())) for line in (folder / "transactions-0").read_text().splitlines()]
    assert counted["transactions"] == len(times) == case.count
    assert counted["received"] == case.count * case.request
    assert counted["reply_received"] == case.count * case.response
    assert counted["completed_ns"] == times[-1][1] < counted["closed_ns"]
    sent = [packet for packet in packets if packet.len and packet.host == packet.sender]
    arrived = [packet for packet in packets if packet.len and packet.host != packet.sender]
    own, others = ([packet for packet in packets if (packet.host == packet.sender) == is_own] for is_own in (True, False))
    assert counted["sent_packets"] == len(seen(own, sender="client"))
    assert counted["reply_sent_packets"] == len(seen(own, sender="server"))
    assert counted["arrived_packets"] == len(seen(others, sender="client"))
    assert counted["reply_arrived_packets"] == len(seen(others, sender="server"))
    asked = [next(packet.t_ns for packet in seen(sent, sender="client") if packet.seq == 1 + k * case.request) for k in range(case.count)]
    assert [begin for begin, _ in times] == pytest.approx(asked, abs=CLOCK_NS)
    assert [end for _, end in times] == pytest.approx(whole(seen(arrived, sender="server"), case.response), abs=CLOCK_NS)
    for (_, end), (begin, _) in itertools.pairwise(times):
        assert begin - end == pytest.approx(case.think_ns, abs=CLOCK_NS)


def whole(packets, size):
    """When each so many bytes were there."""
    there, times = {}, []
    for packet in packets:
        there[packet.seq] = packet.len
        if sum(there.values()) == size * (len(times) + 1):
            times.append(packet.t_ns)
    return times


def test_losses_are_in_the_recording():
    packets = recorded("exchange-losses")
    data = [packet for packet in seen(packets, host="server", sender="server") if packet.len]
    assert len({packet.seq for packet in data}) < len(data)
    assert any(packet.sack for packet in packets)


def test_without_thinking_the_next_request_goes_out_at_once(boot):
    folder = boot(Case(100, 100, 20, 0, LIMIT).line())
    times = [tuple(map(int, line.split())) for line in (folder / "transactions-0").read_text().splitlines()]
    assert len(times) == 20
    assert [end for _, end in times[:-1]] == [begin for begin, _ in times[1:]]
    assert all(end - begin == pytest.approx(20e6, abs=500e3) for begin, end in times)


def test_a_flow_that_stops_asks_no_more(boot):
    folder = boot(Case(100, 100, 1000, 10_000_000, LIMIT).line(), stop_ns=1_000_000_000)
    assert counters(folder)["transactions"] == 32  # from 20 ms on, 20 ms and two packets' times each, and 10 ms of thinking
    assert "closed_ns" not in counters(folder)
    assert max(packet.t_ns for packet in read(folder) if packet.len) < 1.02e9


# --- the script ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("tcp {ends} cubic 1000 0 0 dance", "tcp has no option dance"),
        ("tcp {ends} cubic -1 0 0 close", "a flow without end cannot close"),
        ("exchange {ends} cubic 0 0 from 100 0 1 0", "0 is too little, expected at least 1"),
        ("exchange {ends} cubic 0 0 from 100 100 1", "cannot read the line that begins with exchange"),
        ("exchange {ends} cubic 0 0 from 100 many 1 0", "many is not a number"),
    ],
)
def test_a_script_that_cannot_be_read(boot, line, fault):
    with pytest.raises(EnvironmentFault, match=f"^the guest's agent: script: {fault}"):
        boot(line)
