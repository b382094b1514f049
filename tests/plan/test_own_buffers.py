"""Buffers that a kernel has by itself."""

from support import planned, resolved

from dumbbell.engines.linux import compile_plan

FLOW = {"cc": "reno", "host": {"rmem": "kernel"}}


def test_a_kernel_keeps_its_own_and_the_simulator_has_the_default():
    (on_kernel,) = planned("kernel", flows=[FLOW]).plan.over_tcp
    (by_default,), (on_sim,) = (planned("sim", flows=flows).plan.over_tcp for flows in ([{"cc": "reno"}], [FLOW]))
    assert (on_kernel[2].host.rmem, on_kernel[2].host.wmem) == ((), by_default[2].host.wmem)
    assert on_sim == by_default
    script = compile_plan(planned("kernel", flows=[FLOW]).plan).files["script"]
    assert "tcp_rmem" not in script
    assert "tcp_wmem" in script


def test_the_word_stays_in_the_content_of_a_run():
    assert resolved(flows=[FLOW]).dump()["flows"][0]["host"]["rmem"] == "kernel"
