"""Runs whose numbers are not what their names say are pointed out wherever they are shown."""

SCENARIO = """\
name: slow
path: {rtt: 20ms, bottleneck: {rate: 1kbit, qdisc: {kind: pfifo, limit: 100p}}}
flows: [{cc: cubic}]
duration: 3h
sample: 10s
"""


def test_a_smoothed_rtt_that_wraps_is_pointed_out(dumbbell, tmp_path):
    file, folder = tmp_path / "slow.yaml", tmp_path / "slow"
    file.write_text(SCENARIO)
    ran = dumbbell("run", file, "--out", folder)
    assert "warn: slow: flow/cubic: the smoothed RTT exceeded 536.87 s" in ran.err
    shown = dumbbell("table", folder)
    assert shown.status == 0
    rising, status = shown.err.splitlines()
    assert rising.startswith("goodput of cubic still rises by ")
    assert status == "1 of 1 runs has the status warn; the reasons are in their run.json"
