"""The ECN field of what flows send, as captures have it."""

import polars as pl
import pytest

from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario
from dumbbell.trace.packets import packets

PATH = {"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "codel", "ecn": True}}}


def sent(flow: dict[str, object]) -> pl.DataFrame:
    """Return the packets at the left host."""
    scenario = {"name": "s", "duration": "3s", "capture": True, "path": PATH, "flows": [flow]}
    (resolved,) = Scenario.model_validate(scenario).expand()
    return packets(compute(resolved, on="sim").captures["left.pcap"])


@pytest.mark.parametrize("ect", [0, 1])
@pytest.mark.parametrize("cc", ["cubic", "dctcp"])
def test_a_flow_sends_the_codepoint_that_it_asks_for(cc: str, ect: int):
    rows = sent({"cc": cc, "ecn": True, "ect": ect})
    data = rows.filter((pl.col("payload") > 0) & ~pl.col("reverse"))
    assert len(data) > 1000
    assert set(data["ecn"]) == {1 if ect else 2}
    # Classic senders mark data alone; a congestion control that works on marks sets the codepoint on all packets.
    rest = rows.filter(pl.col("payload") == 0)
    assert set(rest["ecn"]) == ({0} if cc == "cubic" else {1 if ect else 2})
    assert rows.filter(pl.col("reverse") & pl.col("ece")).height > 10
