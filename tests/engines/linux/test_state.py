"""State from Linux's structures: what the agent writes is taken apart as the kernel's headers lay it out."""

import struct

import numpy as np
import pytest

from dumbbell import catalogue
from dumbbell.engines import engine
from dumbbell.engines.linux.script import compile_plan
from dumbbell.engines.linux.state import CONTROLS, QDISCS, Record, records, state_blocks, wants
from dumbbell.plan import make
from dumbbell.scenario import Scenario

ESTABLISHED, SYN_SENT = 1, 2


def info(state=ESTABLISHED):
    """struct tcp_info with a number of its own in each field that is read."""
    content = bytearray(248)
    content[0] = state
    for offset, value in {8: 204_000, 28: 3, 32: 2, 36: 1, 68: 40_000, 72: 5_000, 88: 4}.items():
        struct.pack_into("<I", content, offset, value)
    struct.pack_into("<Q", content, 104, 1_250_000)
    return bytes(content)


def plan(cc="bbr", kind="codel", series=("control", "queue")):
    """A plan for the kernel."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": kind}}}
    (resolved,) = Scenario(name="s", path=path, flows=[{"cc": cc}], duration="2s", series=list(series), engine="kernel").expand()
    return make(resolved, engine("kernel").capabilities()).plan


def written(folder, name, *rows):
    """A file of the agent's."""
    content = b"".join(struct.pack("<qII", t_ns, len(first), len(second)) + first + second for t_ns, first, second in rows)
    (folder / name).write_bytes(content)


def blocks(made, folder):
    return {block.entity: dict(zip(block.names, block.values, strict=True)) for block in state_blocks(made, folder)}


def test_a_sender_and_its_control_are_told_by_the_names_of_the_catalogue(tmp_path):
    told = struct.pack("<5I", 1_000_000, 1, 20_500, 320, 512)
    written(tmp_path, "state-flow-0", (0, info(SYN_SENT), bytes(20)), (10**8, info(), told))
    found = blocks(plan(), tmp_path)["flow/bbr"]
    assert {name: values[1] for name, values in found.items()} == {
        "pacing_bps": 1e7,
        "rto_ms": 204,
        "rttvar_ms": 5,
        "sacked": 3,
        "lost": 2,
        "retrans_out": 1,
        "reordering": 4,
        "bw_bps": (1_000_000 + (1 << 32)) * 8,
        "model_min_rtt_ms": 20.5,
        "pacing_gain": 1.25,
        "cwnd_gain": 2,
    }
    assert np.isnan(found["bw_bps"][0])
    assert found["rto_ms"][0] == 204


@pytest.mark.parametrize(
    ("cc", "told", "expected"),
    [
        ("dctcp", struct.pack("<2H3I", 1, 0, 512, 1448, 14480), {"alpha": 0.5, "window_bytes": 14480, "window_ce_bytes": 1448}),
        ("dctcp", struct.pack("<2H3I", 0, 0, 0, 0, 0), {}),
        (
            "vegas",
            struct.pack("<4I", 1, 7, 20_001, 0x7FFFFFFF),
            {"base_rtt_ms": 20.001, "round_rtt_ms": np.nan, "rtt_samples": 7, "watched": 1},
        ),
        ("illinois", struct.pack("<4I", 1, 0, 0, 20_001), {"base_rtt_ms": 20.001, "rtt_samples": 0}),
        ("westwood", struct.pack("<4I", 1, 0, 30_000, 20_000), {"base_rtt_ms": 20, "last_rtt_ms": 30}),
        ("nv", struct.pack("<4I", 1, 0, 30_000, 20_000), {"base_rtt_ms": 20, "mean_rtt_ms": 30}),
        (
            "cubic",
            struct.pack("<12I", 17, 100, 110, 2048, 20_000, 1, 1_500_000, 90, 1, 5, 6, 7),
            {"w_max": 100, "cnt": 17, "hystart_found": 1, "base_rtt_ms": 20, "origin": 110, "k_s": 2, "epoch_s": 1.5, "w_est": 90},
        ),
        (
            "cubic",
            struct.pack("<12I", 0, 0, 0, 0, 0, 0, 0, 0, 0, 5000, 0xFFFFFFFF, 7),
            {"w_max": 0, "cnt": 0, "hystart_found": 0, "hystart_round_s": 0.005, "hystart_rtt_ms": np.nan, "hystart_samples": 7},
        ),
    ],
)
def test_what_controls_tell(cc, told, expected):
    found = CONTROLS[cc](told)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, nan_ok=True), name
    assert found.keys() <= {each.name for each in catalogue.states("cc")[cc]}


def attribute(kind, content):
    return struct.pack("<HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def of_class(packets, content):
    return struct.pack("<II", packets, len(content)) + content


CAKE = attribute(10, attribute(1, attribute(22, struct.pack("<I", 2))) + attribute(2, attribute(22, struct.pack("<I", 3))))
CAKE_QUEUES = of_class(
    2, attribute(12, struct.pack("<I", 5)) + attribute(13, struct.pack("<I", 1)) + attribute(15, struct.pack("<I", 1 << 31))
)


@pytest.mark.parametrize(
    ("kind", "first", "second", "expected"),
    [
        (
            "codel",
            struct.pack("<4Ii4I", 1514, 3, 2, 700, -4000, 0, 9, 1, 0),
            b"",
            {"codel_count": 3, "codel_last_count": 2, "dropping": 1, "drop_next_ms": -4},
        ),
        ("codel", struct.pack("<4Ii4I", 1514, 3, 2, 700, 0, 0, 9, 0, 0), b"", {"codel_count": 3, "codel_last_count": 2, "dropping": 0}),
        (
            "pie",
            struct.pack("<Q8I", 1 << 62, 15_000, 1_000_000, 1, 0, 0, 0, 0, 0),
            b"",
            {"probability": 0.25, "qdelay_ms": 15, "departure_bps": 8e6},
        ),
        ("pie", struct.pack("<Q8I", 0, 0, 0, 0, 0, 0, 0, 0, 0), b"", {"probability": 0, "qdelay_ms": 0}),
        (
            "fq_codel",
            b"",
            of_class(3, struct.pack("<IiIIIIi", 1, 0, 0, 8, 0, 1, 0)) + of_class(0, struct.pack("<IiIIIIi", 1, 0, 0, 9, 0, 0, 0)),
            {"queues": 1, "dropping_queues": 1, "codel_count": 8},
        ),
        ("cake", CAKE, CAKE_QUEUES, {"queues": 1, "dropping_queues": 1, "codel_count": 5, "probability": 0.5, "bulk_flows": 5}),
        ("dualpi2", struct.pack("<8Ii3I", 1 << 31, *[0] * 7, -7, 0, 0, 0), b"", {"base_probability": 0.5, "wrr_credit_bytes": -7}),
    ],
)
def test_what_disciplines_tell(kind, first, second, expected):
    found = QDISCS[kind](Record(0, first, second))
    assert found == pytest.approx(expected)
    assert found.keys() <= {each.name for each in catalogue.states("qdisc")[kind]}


def test_names_choose_and_the_script_asks_for_no_more(tmp_path):
    assert wants(plan(series=())) == (False, False)
    assert wants(plan(series=["pacing_gain"])) == (True, False)
    assert wants(plan(series=["codel_count"])) == (False, True)
    assert "\nstate " not in compile_plan(plan(series=())).files["script"]
    assert "\nstate senders queues\n" in compile_plan(plan()).files["script"]
    assert "\nstate queues\n" in compile_plan(plan(series=["queue"])).files["script"]
    written(tmp_path, "state-flow-0", (0, info(), struct.pack("<5I", 1, 0, 20_500, 320, 512)))
    assert blocks(plan(series=["pacing_gain"]), tmp_path)["flow/bbr"].keys() == {"pacing_gain"}


def test_records_are_read_in_order(tmp_path):
    written(tmp_path, "x", (1, b"ab", b""), (2, b"", b"cde"))
    assert list(records(tmp_path / "x")) == [Record(1, b"ab", b""), Record(2, b"", b"cde")]
