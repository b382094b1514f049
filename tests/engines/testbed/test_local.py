"""Messages about a run on this machine that fails."""

import pytest

from dumbbell.engines.testbed.local import why

TC = "qdisc add dev p0 root handle 1: tbf rate 1mbit burst 1540 limit 100\nqdisc add dev x0 root handle 1: netem limit 9 delay 10us\n"


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (
            "Error: Specified qdisc kind is unknown.\nCommand failed net.tc:2\n",
            "here: qdisc add dev x0 root handle 1: netem limit 9 delay 10us: Specified qdisc kind is unknown; "
            "this machine's kernel has no netem, expected the module sch_netem, or other machines (--hosts)",
        ),
        (
            "Error: TC classifier not found.\nWe have an error talking to the kernel\nCommand failed net.tc:1\n",
            "here: qdisc add dev p0 root handle 1: tbf rate 1mbit burst 1540 limit 100: TC classifier not found; "
            "expected the modules cls_flower, cls_matchall and act_mirred, or other machines (--hosts)",
        ),
        ("something else\n", "here: tc: failed; the log ends in: something else"),
        ("", "here: tc: failed"),
    ],
)
def test_the_line_that_failed_is_told(tmp_path, log, told):
    (tmp_path / "error").write_text("tc: failed")
    (tmp_path / "log").write_text(log)
    (tmp_path / "net.tc").write_text(TC)
    assert why(tmp_path) == told


def test_an_agent_that_said_nothing_has_no_reason(tmp_path):
    assert why(tmp_path) is None
