"""Behaviour of every engine with the window of a connection that was idle."""

import numpy as np
import pytest

EXCHANGE = {"kind": "exchange", "cc": "cubic", "request": "300B", "response": "200kB", "count": 4, "think": "700ms"}
PATH = {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}


def latencies_ms(run, restarts):
    stack = {"base": "linux-6.12", "slow_start_after_idle": restarts}
    found = run(path=PATH, flows=[], background=[{**EXCHANGE, "stack": stack}], duration="5s")
    return np.array(found.series("flow/exchange", "latency_ms")[1])


def test_after_an_idle_time_the_window_begins_anew_unless_the_stack_is_told_otherwise(run):
    restarting, keeping = latencies_ms(run, True), latencies_ms(run, False)
    assert restarting[0] == pytest.approx(keeping[0])
    # 139 segments from a window of 17, which three timeouts leave: four round trips. From the window that the first response ended with:
    # one or two. The line takes 17 ms.
    assert all(restarting[1:] > 4 * 40)
    assert all(keeping[1:] < 3 * 40)


def test_nodelay_is_for_every_engine(run):
    host = {"nodelay": True}
    found = run(path=PATH, flows=[{"cc": "cubic", "host": host}], background=[{**EXCHANGE, "host": host}], duration="4s")
    assert found.status == "ok"
    assert found.groups.rows()[0]["transactions"] == 4
