"""A plan as the network that the simulator is given."""

from __future__ import annotations

from typing import Any

from dumbbell.plan import Link, Plan, Port, Tcp


def network(plan: Plan) -> dict[str, Any]:
    """The simulator's description of the run (`NetworkSpec` of crates/sim)."""
    return {
        "seed": plan.seed,
        "duration_ns": plan.duration_ns,
        "sample_ns": plan.sample_ns,
        "ports": [_port(port) for port in plan.ports],
        "flows": [flow for workload in plan.tcp for flow in _flows(plan, workload)],
        "udp": [
            {
                "name": stream.name,
                "interval_ns": workload.interval_ns,
                "size_bytes": workload.size_bytes,
                "forward": plan.paths[workload.path].ways(workload.direction)[0],
                "start_ns": stream.start_ns,
                "stop_ns": stream.stop_ns,
                "src_host": plan.hosts[workload.source].number,
                "dst_host": plan.hosts[workload.target].number,
                "from_right": workload.direction == "reverse",
            }
            for workload, stream in plan.streams
        ],
        "impairments": [change.plain() for change in plan.schedule],
        "capture": plan.capture,
    }


def _port(port: Port) -> dict[str, Any]:
    if isinstance(port, Link):
        line = {"rate_bps": port.rate_bps, "limit_packets": port.limit_packets}
        return {"kind": "delay", "name": port.id, "delay_ns": port.delay_ns, **line}
    return {"kind": "queue", "name": port.id, "qdisc": port.qdisc, "shaper": port.shaper, "delay_ns": port.delay_ns}


def _flows(plan: Plan, workload: Tcp) -> list[dict[str, Any]]:
    data, acks = plan.paths[workload.path].ways(workload.direction)
    common = {
        "cc": workload.cc["kind"] if len(workload.cc) == 1 else workload.cc,
        "stack": {"name": workload.stack, "options": workload.options},
        "host": workload.host.plain(),
        "ecn": workload.ecn,
        "sce_echo": workload.sce_echo,
        "forward": data,
        "reverse": acks,
        "transfer_bytes": workload.transfer_bytes,
        "first_write_bytes": workload.first_write_bytes,
        "src_host": plan.hosts[workload.source].number,
        "dst_host": plan.hosts[workload.target].number,
        "from_right": workload.direction == "reverse",
    }
    if plan.hosts[workload.source].egress == data[0]:
        common["local_first_port"] = True
    return [{"name": each.name, "start_ns": each.start_ns, "stop_ns": each.stop_ns, **common} for each in workload.connections]
