"""Programs that every scenario may name without describing them.

Each command is dumbbell's own, so that a scenario chooses nothing of it but numbers and names that are checked. The programs are those of
Debian's packages; netperf, which Debian lacks, is the one of https://github.com/HewlettPackard/netperf.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dumbbell.scenario.program import Program, Scalar

BUILT = ("iperf3", "ftp")
"""Programs whose commands depend on more than placeholders can say: the engines make them."""
_NGINX = """\
mkdir -p www && head -c "$3" /dev/zero > www/object && cat > nginx.conf <<END
daemon off;
pid nginx.pid;
error_log stderr;
worker_processes 1;
events { worker_connections 512; }
http {
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path tmp-body; proxy_temp_path tmp-proxy; fastcgi_temp_path tmp-fastcgi;
    uwsgi_temp_path tmp-uwsgi; scgi_temp_path tmp-scgi;
    server { listen $1:$2; root www; }
}
END
exec nginx -p . -e stderr -c nginx.conf
"""
_CURL = "%{{time_connect}} %{{time_starttransfer}} %{{time_total}} %{{size_download}}\\n"
_READY: Mapping[str, Mapping[str, Any]] = {
    "iperf3-udp": {
        "server": ["iperf3", "-s", "-1", "-J", "-B", "{server}", "-p", "{port}"],
        "client": [
            *("iperf3", "-u", "-J", "-c", "{server}", "-B", "{client}", "-p", "{port}", "--cport", "{client_port}"),
            *("-b", "{rate}", "-l", "{size}", "-S", "{tos}", "-t", "{seconds}"),
        ],
        "transport": "udp",
        "listens": "tcp",
        "arguments": {"rate": "1M", "size": 1448},
        "report": {
            "bytes": {"json": "end.sum.bytes", "of": "server"},
            "ms": {"json": "end.sum.seconds", "of": "server", "times": 1000.0},
            "bps": {"json": "end.sum.bits_per_second", "of": "server"},
            "jitter_ms": {"json": "end.sum.jitter_ms", "of": "server"},
            "lost_packets": {"json": "end.sum.lost_packets", "of": "server"},
            "packets": {"json": "end.sum.packets", "of": "server"},
        },
    },
    "iperf3-mptcp": {
        "server": ["iperf3", "-s", "-1", "-J", "-B", "{server}", "-p", "{port}"],
        "client": [
            *("iperf3", "-J", "-c", "{server}", "-B", "{client}", "-p", "{port}", "--cport", "{client_port}"),
            *("-C", "{cc}", "-t", "{seconds}"),
        ],
        "transport": "mptcp",
        "report": {
            "bytes": "end.sum_received.bytes",
            "ms": {"json": "end.sum_received.seconds", "times": 1000.0},
            "bps": "end.sum_received.bits_per_second",
        },
    },
    "netperf": {
        "server": ["netserver", "-D", "-4", "-L", "{server}", "-p", "{control_port}"],
        "client": [
            *("netperf", "-4", "-H", "{server}", "-L", "{client}", "-p", "{control_port}", "-t", "{test}", "-l", "{seconds}", "-P", "0"),
            *("--", "-P", "{client_port},{port}", "-K", "{cc}"),
            *("-k", "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_TRANSPORT_RETRANS,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,RT_LATENCY"),
        ],
        "listens": "none",
        "arguments": {"test": "TCP_STREAM"},
        "report": {
            "bytes": {"regex": r"REMOTE_BYTES_RECVD=([0-9]+)"},
            "ms": {"regex": r"ELAPSED_TIME=([0-9.]+)", "times": 1000.0},
            "bps": {"regex": r"^THROUGHPUT=([0-9.]+)\nTHROUGHPUT_UNITS=10\^6bits/s", "times": 1e6},
            "rtt_ms": {"regex": r"RT_LATENCY=([0-9.]+)", "times": 1e-3},
            "retransmits": {"regex": r"LOCAL_TRANSPORT_RETRANS=([0-9]+)"},
        },
    },
    "ping": {
        "client": ["ping", "-n", "-I", "{client}", "-i", "{interval}", "-s", "{size}", "-Q", "{tos}", "-w", "{seconds}", "{server}"],
        "transport": "icmp",
        "arguments": {"interval": 0.2, "size": 56},
        "report": {
            "rtt_ms": {"regex": r"= [0-9.]+/([0-9.]+)/"},
            "packets": {"regex": r"([0-9]+) packets transmitted"},
            "transactions": {"regex": r"([0-9]+) received"},
        },
    },
    "irtt": {
        "server": ["irtt", "server", "-b", "{server}:{port}"],
        "client": [
            *("irtt", "client", "-Q", "-o", "-", "-i", "{interval}", "-d", "{duration}s", "-l", "{size}"),
            *("--local={client}:{client_port}", "{server}:{port}"),
        ],
        "transport": "udp",
        "arguments": {"interval": "10ms", "size": 172},
        "report": {
            "rtt_ms": {"json": "stats.rtt.mean", "times": 1e-6},
            "jitter_ms": {"json": "stats.ipdv_round_trip.mean", "times": 1e-6},
            "packets": {"json": "stats.packets_sent"},
            "transactions": {"json": "stats.packets_received"},
        },
    },
    "http": {
        "server": ["sh", "-c", _NGINX, "nginx", "{server}", "{port}", "{size}"],
        "client": [
            *("curl", "-q", "-sS", "-Z", "--parallel-max", "{parallel}", "--interface", "{client}", "-m", "{duration}", "-o", "/dev/null"),
            *("-w", _CURL, "http://{server}:{port}/object?[1-{objects}]"),
        ],
        "sends": "server",
        "ends": True,
        "arguments": {"size": 100_000, "objects": 20, "parallel": 6},
        "report": {"transactions": {"count": r"^[0-9.]+ [0-9.]+ [0-9.]+ [1-9][0-9]*$"}},
    },
    "flent": {
        "server": ["sh", "-c", 'irtt server -b "$1" & exec netserver -D -4 -L "$1" -p "$2"', "servers", "{server}", "{port}"],
        "client": [
            *("flent", "{test}", "-H", "{server}", "--local-bind", "{client}", "-4", "-l", "{length}", "-s", "{step}"),
            *("--netperf-control-port", "{port}", "-t", "{title}", "-D", ".", "-f", "summary"),
        ],
        "transport": "any",
        "environment": {"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"},
        "arguments": {"test": "rrul", "length": 20, "step": 0.2, "title": "dumbbell"},
        "keep": ["*.flent.gz"],
        "ends": True,
    },
}
PACKAGES: Mapping[str, str] = {
    **{name: name for name in ("iperf3", "irtt", "curl", "vsftpd", "fping")},
    "ping": "iputils-ping",
    "nginx": "nginx-light",
    "flent": "flent",
}
"""Programs, with the packages of Debian and Ubuntu that have them."""
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(
        ("netperf", "netserver"),
        "Debian has no package of it; build https://github.com/HewlettPackard/netperf, or Ubuntu's package netperf",
    ),
}
"""Programs that a distribution lacks, with where they are."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    "iperf3": ("iperf3",),
    "iperf3-udp": ("iperf3",),
    "iperf3-mptcp": ("iperf3",),
    "ftp": ("curl", "vsftpd"),
    "netperf": ("netperf", "netserver"),
    "ping": ("ping",),
    "irtt": ("irtt",),
    "http": ("curl", "nginx"),
    "flent": ("flent", "fping", "irtt", "netperf", "netserver"),
}
"""By ready-made program: the programs of the machine that it takes."""
SUMMARIES: Mapping[str, str] = {
    "iperf3": "iperf3 over TCP",
    "iperf3-udp": "iperf3 over UDP",
    "iperf3-mptcp": "iperf3 over MPTCP",
    "ftp": "vsftpd and curl",
    "netperf": "netperf: a stream or requests",
    "ping": "ping(8)",
    "irtt": "irtt: isochronous round trips over UDP",
    "http": "nginx and curl, HTTP/1.1 over several connections",
    "flent": "Flent with netperf, irtt and fping: all packets between two hosts",
}
"""A line about each."""
NAMES: tuple[str, ...] = tuple(NEEDED)


@cache
def ready_made(name: str) -> Program | None:
    """A ready-made program; None if there is none of that name, or an engine makes its commands."""
    return Program.model_validate(_READY[name]) if name in _READY else None


def of(name: str, own: Mapping[str, Program]) -> Program | None:
    """The program that a scenario means by a name: one of its own, or a ready-made one."""
    return own.get(name) or ready_made(name)


def arguments_of(program: Program, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The arguments of a flow: those of the program, with those that the flow gives."""
    return {**program.arguments, **given}
