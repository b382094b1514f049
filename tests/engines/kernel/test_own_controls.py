"""Congestion controls that the kernel loads: BPF programs and modules. They are allowed by name, kept by content, and do what they say."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import dumbbell
from dumbbell.engines.kernel import binary, headers
from dumbbell.engines.kernel.capabilities import BPF
from dumbbell.engines.kernel.series import DEFAULT
from dumbbell.errors import BadInput, DumbbellError, EnvironmentFault
from dumbbell.templates import control

NAME = f"{DEFAULT}-{BPF}"
MODULE = r"""
#include <linux/module.h>
#include <net/tcp.h>

static u32 halve(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) >> 1U, 2U);
}

static struct tcp_congestion_ops control = {
	.ssthresh = halve,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "halving",
};

static int __init begin(void)
{
	return tcp_register_congestion_control(&control);
}

static void __exit end(void)
{
	tcp_unregister_congestion_control(&control);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
"""


QUEUE = r"""
#include <linux/module.h>
#include <net/pkt_sched.h>

static int take(struct sk_buff *skb, struct Qdisc *q, struct sk_buff **drop)
{
	return q->q.qlen < 10 ? qdisc_enqueue_tail(skb, q) : qdisc_drop(skb, q, drop);
}

static struct Qdisc_ops short_queue = {
	.id = "short",
	.enqueue = take,
	.dequeue = qdisc_dequeue_head,
	.peek = qdisc_peek_head,
	.reset = qdisc_reset_queue,
	.owner = THIS_MODULE,
};

static int __init begin(void)
{
	return register_qdisc(&short_queue);
}

static void __exit end(void)
{
	unregister_qdisc(&short_queue);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
"""


def built(tmp_path, name, source):
    """Compile a module with the headers that the kernel's build has kept."""
    kernel = binary.find()
    kept = kernel.linux.parent / headers.NAME
    if not kept.is_dir():
        pytest.skip("the kernel was built without --with headers")
    (tmp_path / f"{name}.c").write_text(source)
    (tmp_path / "Makefile").write_text(f"obj-m := {name}.o\n")
    subprocess.run(["make", "-C", kept, "ARCH=um", f"M={tmp_path}", "modules"], check=True, capture_output=True)


@pytest.mark.usefixtures("real")
def test_a_queue_discipline_from_a_module_is_that_of_the_bottleneck(tmp_path, dumbbell):
    built(tmp_path, "sch_short", QUEUE)
    loads = {"modules": ["./sch_short.ko"], "duration": "3s"}
    scenario(tmp_path, "reno", **loads)
    text = (tmp_path / "scenario.yaml").read_text()
    (tmp_path / "scenario.yaml").write_text(text.replace('{"kind": "pfifo", "limit": "1bdp"}', '{"kind": "tc", "command": "short"}'))
    refused = dumbbell("run", tmp_path / "scenario.yaml", "--out", tmp_path / "out")
    assert "sch_short.ko would be loaded into the guest's kernel; expected --allow-module" in refused.err
    (run,) = dumbbell_run(tmp_path)
    (port,) = (row for row in run.ports.rows() if row["port"] == "bottleneck")
    assert port["dropped_aqm"] + port["dropped_overflow"] > 0
    _, backlog = run.series("port/bottleneck", "backlog_packets")
    assert max(backlog) == 10
    scenario(tmp_path, "reno", engine="sim", **loads)
    lacking = dumbbell("run", tmp_path / "scenario.yaml", "--allow-module", "--out", tmp_path / "out")
    assert lacking.status == 2
    assert "modules" in lacking.err


def dumbbell_run(tmp_path):
    """Run the scenario of the folder, with its modules."""
    return dumbbell.run(dumbbell.Scenario.from_file(tmp_path / "scenario.yaml"), allow_module=True)


def scenario(tmp_path, cc, engine="kernel", **more):
    """A flow alone, whose queue overflows."""
    path = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}
    entries = {"name": "own", "engine": engine, "path": path, "flows": [{"name": "flow", "cc": cc}], "duration": "15s", **more}
    (tmp_path / "scenario.json").write_text(json.dumps(entries))
    (tmp_path / "scenario.yaml").write_text(json.dumps(entries))
    return dumbbell.Scenario.from_file(tmp_path / "scenario.yaml")


def numbers(run):
    """All that a flow and its queue did."""
    flows = [{name: value for name, value in row.items() if name != "cc"} for row in run.flows.rows()]
    return run.digest, flows, run.ports.rows()


@pytest.fixture(scope="module")
def with_bpf():
    """The name of a kernel that takes BPF programs."""
    try:
        binary.find(NAME)
    except DumbbellError as fault:
        pytest.skip(f"{fault}")
    return {"kernel": NAME}


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The object of the example of `dumbbell new cc NAME --language bpf`."""
    if missing := [program for program in ("clang", "make", "bpftool") if shutil.which(program, path="/usr/bin:/usr/sbin:/bin") is None]:
        pytest.skip(f"{missing[0]} is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("project"))
        control.write("mine", "bpf")
        subprocess.run(["make", "-s", "-C", "mine"], check=True)
        return Path("mine/mine.bpf.o").resolve()


def test_a_program_of_the_example_is_cubic_to_the_byte(with_bpf, example, tmp_path):
    found = []
    for cc in ({"struct_ops": str(example)}, "cubic"):
        (run,) = dumbbell.run(scenario(tmp_path, cc, with_bpf), allow_module=True)
        assert run.status == "ok", run.reasons
        found.append(numbers(run))
    assert found[0] == found[1]


def test_a_program_that_the_kernel_refuses_is_named(with_bpf, tmp_path):
    (tmp_path / "wrong.bpf.o").write_bytes(b"\x7fELF, and nothing that follows")
    with pytest.raises(EnvironmentFault, match="bpftool-struct_ops"):
        dumbbell.run(scenario(tmp_path, {"struct_ops": "./wrong.bpf.o"}, with_bpf), allow_module=True)


@pytest.mark.usefixtures("real")
def test_a_module_is_compiled_with_kept_headers_and_does_what_it_says(tmp_path):
    built(tmp_path, "tcp_halving", MODULE)
    found = []
    for cc in ({"module": "./tcp_halving.ko"}, "reno"):
        (run,) = dumbbell.run(scenario(tmp_path, cc), allow_module=True)
        found.append(numbers(run))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("cc", "expected"),
    [
        ({"struct_ops": "./none.bpf.o"}, "No such file"),
        ({"struct_ops": "./far_too_long_a_name.bpf.o"}, "says no name of a congestion control"),
        ({"struct_ops": "./mine.bpf.o", "beta": 3}, "beta: unknown"),
        ({"struct_ops": "./mine.bpf.o", "sha256": "0" * 64}, "is another file"),
        ({"struct_ops": 3}, "is no path"),
        ({"module": "./mine.bpf.o"}, "says no name of a congestion control"),
    ],
)
def test_what_no_scenario_may_say(cc, expected, tmp_path):
    (tmp_path / "mine.bpf.o").write_bytes(b"a program")
    (tmp_path / "far_too_long_a_name.bpf.o").write_bytes(b"a program")
    with pytest.raises(BadInput, match=expected):
        scenario(tmp_path, cc)


def test_names_and_keys_follow_from_the_file(tmp_path):
    (tmp_path / "mine.bpf.o").write_bytes(b"a program")
    (tmp_path / "tcp_mine.ko").write_bytes(b"a module")
    (tmp_path / "else").mkdir()
    shutil.copy(tmp_path / "mine.bpf.o", tmp_path / "else")
    told = [
        scenario(tmp_path, cc).flows[0].cc
        for cc in (
            {"struct_ops": "./mine.bpf.o"},
            {"struct_ops": "./else/mine.bpf.o"},
            {"module": "./tcp_mine.ko"},
            {"module": "tcp_mine.ko", "name": "other"},
        )
    ]
    assert [cc.kind for cc in told] == ["mine", "mine", "mine", "other"]
    assert told[0].sha256 == told[1].sha256 != told[2].sha256


@pytest.mark.usefixtures("real")
def test_a_kernel_loads_only_what_the_user_allows(tmp_path, dumbbell):
    (tmp_path / "tcp_mine.ko").write_bytes(b"a module")
    scenario(tmp_path, {"module": "./tcp_mine.ko"})
    refused = dumbbell("run", tmp_path / "scenario.yaml", "--out", tmp_path / "out")
    assert refused.status == 2
    assert "tcp_mine.ko would be loaded into the guest's kernel; expected --allow-module" in refused.err
    broken = dumbbell("run", tmp_path / "scenario.yaml", "--allow-module", "--out", tmp_path / "out")
    assert broken.status != 0
    assert "insmod" in broken.err
    scenario(tmp_path, {"struct_ops": "./tcp_mine.ko", "name": "mine"})
    lacking = dumbbell("run", tmp_path / "scenario.yaml", "--allow-module", "--out", tmp_path / "out")
    assert lacking.status == 2
    assert "the engine kernel has no congestion controls as BPF programs" in lacking.err
