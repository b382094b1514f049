"""Reads what `facts.sh` prints: pure functions of its text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from dumbbell.engines.testbed.facts import (
    MATCHES,
    Account,
    Device,
    Facts,
    Feature,
    Hardware,
    Kernel,
    Leftover,
    Presence,
    Processors,
    control_lines,
    tc_lines,
)

PREFIX = "dumbbell-"
"""Prefix of the names of dumbbell's namespaces."""
_FAILED = re.compile(r"Command failed -:(\d+)")
_NOISE = "We have an error talking to the kernel"


def read_facts(out: bytes) -> Facts:
    """Return the facts of a machine. Raises `ValueError` if the text is incomplete or malformed."""
    answers = _Answers(out.decode(errors="replace"))
    try:
        links, routes, ways = _network(answers)
        return Facts(
            kernel=_kernel(answers),
            processors=_processors(answers),
            account=_account(answers),
            devices={link["ifname"]: _device(answers, link) for link in links},
            qdiscs=tuple(_qdiscs(answers)),
            neighbours=tuple(line.split() for line in (answers.text("neighbours") or "").splitlines()[1:]),
            routes=tuple(routes),
            ways=ways,
            firewall=_firewall(answers),
            connections_tracked=int(answers.value("/proc/sys/net/netfilter/nf_conntrack_count") or 0),
            sockets=tuple(_sockets(answers)),
            presence=_presence(answers),
            leftover=_leftover(answers),
        )
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


class _Answers:
    """Sections by name, and files by path."""

    def __init__(self, text: str) -> None:
        self._found: dict[str, tuple[int, str]] = {}
        for section in text.split("\x1e")[1:]:
            name, _, rest = section.partition("\n")
            body, _, status = rest.rpartition("\x1d")
            if not status.strip().isdigit():
                break
            self._found[name] = (int(status), body)
        if "end" not in self._found:
            raise ValueError(f"the answer ends behind {list(self._found)[-1]!r}" if self._found else "there is no answer")
        self.files: dict[str, list[str]] = {}
        # A line is `file:line`. The line itself has no slash, but a device, and so a folder, may have a colon.
        for path, line in re.findall(r"^(/.*/[^/:]+):([^/\n]*)$", self.needed("values"), re.MULTILINE):
            self.files.setdefault(path, []).append(" ".join(line.split()))

    def text(self, name: str) -> str | None:
        """Return the output of a command; None if it failed or was not run."""
        status, body = self._found.get(name, (1, ""))
        return None if status else body.strip("\n")

    def needed(self, name: str) -> str:
        """Return the output of a command. Raises `ValueError` if there is none."""
        if (text := self.text(name)) is None:
            raise ValueError(f"it does not say its {name}")
        return text

    def has(self, name: str) -> bool:
        """True if it was asked for."""
        return name in self._found

    def value(self, path: str) -> str | None:
        """The only line of a file."""
        return self.files.get(path, [None])[0]

    def below(self, folder: str) -> dict[str, str]:
        """The files below a folder by the rest of their paths."""
        return {path.removeprefix(folder): lines[0] for path, lines in self.files.items() if path.startswith(folder)}

    def pairs(self, name: str) -> dict[str, str] | None:
        """Lines `name: value`."""
        return None if (text := self.text(name)) is None else _pairs(text.splitlines())


def _pairs(lines: Iterable[str]) -> dict[str, str]:
    parts = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, colon, value in parts if colon and value.strip()}


def _network(answers: _Answers) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return devices, routes, and by address the requested routes: ip's answers one after the other. A request that failed has no
    answer."""
    text, found, decoder = answers.needed("network"), [], json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        # ip shows empty objects if its filters leave nothing.
        found.append([each for each in value if each])
        text = text[end:]
    if len(found) < 2:
        raise ValueError("it does not say its devices and routes (package iproute2)")
    links, routes, *ways = found
    # Routes of IPv6, which alone have a preference, change by themselves.
    return links, [each for each in routes if "pref" not in each], {way[0]["dst"]: way[0] for way in ways if way}


def _qdiscs(answers: _Answers) -> list[dict[str, Any]]:
    if not (text := answers.text("qdiscs")):
        raise ValueError("it does not say its queues (package iproute2)")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def _kernel(answers: _Answers) -> Kernel:
    _, release, architecture = answers.needed("system").split()
    config = answers.text("config")
    options = (line.partition("=") for line in (config or "").splitlines())
    sysctls = {name.replace("/", "."): value for name, value in answers.below("/proc/sys/").items()}
    return Kernel(
        release=release,
        version=answers.needed("version"),
        architecture=architecture,
        boot_id=sysctls.pop("kernel.random.boot_id"),
        config=None if config is None else {key: value.strip('"') for key, _, value in options},
        sysctls={name: value for name, value in sysctls.items() if name != "net.netfilter.nf_conntrack_count"},
        modules={name.replace("/parameters/", "."): value for name, value in answers.below("/sys/module/").items()},
    )


def _processors(answers: _Answers) -> Processors:
    lines = [line.partition(":") for line in answers.files.get("/proc/cpuinfo", [])]
    models = [value.strip() for key, _, value in lines if key.startswith("model name")]
    folder = "/sys/devices/system/"
    return Processors(
        count=sum(key.startswith("processor") for key, _, _ in lines),
        model=models[0] if models else None,
        governors=tuple(sorted(set(answers.below(f"{folder}cpu/").values()))),
        load=float(answers.needed("load").split()[0]),
        ticks=tuple(map(int, answers.needed("ticks").split()[1:])),
        clocksource=answers.value(f"{folder}clocksource/clocksource0/current_clocksource"),
        tracking=answers.text("chrony"),
    )


def _account(answers: _Answers) -> Account:
    free = mount = None
    if (space := answers.text("space")) is not None:
        *_, blocks, _, mount = space.splitlines()[-1].split(maxsplit=5)
        free = int(blocks) * 1024
    mounts = [line.split() for line in (answers.text("mounts") or "").splitlines()]
    options = [words[3].split(",") for words in mounts if words[1] == mount]
    memory, status = (_pairs(answers.files.get(path, [])) for path in ("/proc/meminfo", "/proc/self/status"))
    return Account(
        user=int(answers.needed("user")),
        capabilities=int(status.get("CapEff", "0"), 16),
        tools={PurePosixPath(path).name: path for path in (answers.text("tools") or "").splitlines()},
        free_bytes=free,
        noexec=bool(options) and "noexec" in options[-1],
        memory_bytes=int(memory["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in memory else None,
        controller=answers.text("controller") or None,
    )


def _sockets(answers: _Answers) -> Iterator[str]:
    """Yield sockets with a local address: protocol, local and remote end. A socket that only waits for its end (TIME_WAIT) belongs to
    nobody."""
    for name in ("tcp", "udp", "tcp6", "udp6"):
        for words in (line.split() for line in answers.files.get(f"/proc/net/{name}", [])):
            if words[0] == "sl" or words[3] == "06":
                continue
            local, remote = _end(words[1]), _end(words[2])
            if local and remote and not local.startswith("0.0.0.0:"):
                yield f"{name.removesuffix('6')} {local} {remote}"


def _end(shown: str) -> str | None:
    """Address and port of a socket in hexadecimal digits; None for those of IPv6. An address is shown as a number of this machine's."""
    address, _, port = shown.partition(":")
    if len(address) > 8:
        if not address.startswith("0000000000000000FFFF0000"):
            return None
        address = address[-8:]
    return f"{'.'.join(str(byte) for byte in reversed(bytes.fromhex(address)))}:{int(port, 16)}"


def _device(answers: _Answers, link: Mapping[str, Any]) -> Device:
    name, statistics = link["ifname"], link.get("stats64", {})
    known = answers.has(f"features {name}")
    infos = link.get("addr_info", [])
    return Device(
        name=name,
        kind=link.get("linkinfo", {}).get("info_kind", ""),
        up="UP" in link["flags"],
        carrier="LOWER_UP" in link["flags"],
        mtu=link["mtu"],
        mac=link.get("address", ""),
        bus=link.get("parentbus", ""),
        queue_packets=link.get("txqlen"),
        gso_max_segs=link.get("gso_max_segs"),
        addresses=tuple(f"{info['local']}/{info['prefixlen']}" for info in infos if info.get("family") == "inet"),
        counters={f"{way}.{key}": value for way in statistics for key, value in statistics[way].items()},
        hardware=_hardware(answers, name) if known else None,
        filters={hook: tuple(json.loads(answers.text(f"{hook} {name}") or "[]")) for hook in ("ingress", "egress")} if known else None,
    )


def _hardware(answers: _Answers, device: str) -> Hardware | None:
    features = answers.pairs(f"features {device}")
    if features is None:
        return None
    speed = answers.value(f"/sys/class/net/{device}/speed") or ""
    statistics = answers.pairs(f"statistics {device}")
    stamps = answers.text(f"timestamping {device}")
    duplex = answers.value(f"/sys/class/net/{device}/duplex")
    return Hardware(
        driver=answers.pairs(f"driver {device}") or {},
        features={name: Feature(value.startswith("on"), "[fixed]" in value) for name, value in features.items()},
        # -1: unknown, as where there is no carrier.
        speed_mbps=int(speed) if speed.isdigit() else None,
        duplex=None if duplex == "unknown" else duplex,
        coalescing=_coalescing(answers.text(f"coalescing {device}")),
        rings=_last_values(answers.text(f"rings {device}")),
        pause=answers.pairs(f"pause {device}"),
        timestamping=None if stamps is None else tuple(line.strip() for line in stamps.splitlines() if line.startswith(("\t", " "))),
        statistics=None if statistics is None else {key: int(value) for key, value in statistics.items() if value.isdigit()},
    )


def _coalescing(text: str | None) -> dict[str, str] | None:
    """`Adaptive RX: off  TX: off` are two settings on one line."""
    if text is None:
        return None
    found = dict(re.findall(r"^([a-z][a-z0-9-]*):\s*(\S+)$", text, re.MULTILINE))
    if adaptive := re.search(r"^Adaptive RX:\s*(\S+)\s+TX:\s*(\S+)", text, re.MULTILINE):
        found |= {"adaptive-rx": adaptive[1], "adaptive-tx": adaptive[2]}
    return found


def _last_values(text: str | None) -> dict[str, str] | None:
    """Return the last value of each name: for rings ethtool first shows the maximum values and then, under the same names, the set
    values."""
    return None if text is None else dict(re.findall(r"^([A-Z][A-Za-z ]*):\s*(\S+)$", text, re.MULTILINE))


def _firewall(answers: _Answers) -> tuple[str, ...] | None:
    """nft shows its rules to root alone; the tables of the old iptables are files."""
    text = answers.text("firewall")
    old = tuple(sorted({f"iptables {name}" for name in answers.files.get("/proc/net/ip_tables_names", [])}))
    if text is None:
        return old or None
    rules = json.loads(text or "{}").get("nftables", [])
    return (*sorted({f"nftables {each['rule']['table']}/{each['rule']['chain']}" for each in rules if "rule" in each}), *old)


def _presence(answers: _Answers) -> Presence | None:
    if (said_of_all := answers.text("probe")) is None:
        return None
    by_tc, _, by_ip = said_of_all.partition("\x1c")
    tried = _tried(by_tc, list(tc_lines()))
    actions: dict[str, str] = {}
    for classifier in MATCHES:
        for (what, name), said in tried.items():
            if what == f"actions by {classifier}" and not tried["filters", classifier]:
                actions[name] = actions.get(name, said) and said
    for what, name in tried:
        if what.startswith("actions by "):
            actions.setdefault(name, "there is no classifier to try it with")
    named = {kind: {name: said for (what, name), said in tried.items() if what == kind} for kind in ("qdiscs", "filters")}
    return Presence(**named, actions=actions, controls=_tried(by_ip, list(control_lines())))


def _tried(text: str, names: list[Any]) -> dict[Any, str]:
    """Return the message of a batch of tc or ip about each of its lines; empty if the line succeeded."""
    found = dict.fromkeys(names, "")
    said = ""
    for line in text.splitlines():
        if failed := _FAILED.match(line):
            found[names[int(failed[1]) - 1]] = said or "it failed"
            said = ""
        elif line.strip() and line != _NOISE:
            said = line.strip().removeprefix("Error: ").removesuffix(".")
    return found


def _leftover(answers: _Answers) -> Leftover:
    journal = answers.text("journal") or ""
    namespaces = (answers.text("namespaces") or "").split()
    return Leftover(
        session=answers.text("session") or None,
        changes=len(journal.splitlines()),
        locked=_locked(answers.text("lock")),
        namespaces=tuple(name for name in namespaces if name.startswith(PREFIX)),
    )


def _locked(text: str | None) -> bool:
    """True if /proc/locks, which comes below the numbers of the lock's device and inode, has the lock."""
    if not text:
        return False
    (device, inode), *held = (line.split() for line in text.splitlines())
    number = int(device, 16)
    at = f"{os.major(number):02x}:{os.minor(number):02x}:{inode}"
    return any("FLOCK" in words and at in words and "->" not in words for words in held)
