"""Checks the licence of every crate against the list in deny.toml, where cargo-deny is not installed."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKSPACES = ("Cargo.toml", "fuzz/Cargo.toml")


def accepted(expression: str, allowed: set[str]) -> bool:
    """True if an SPDX expression can be met with allowed licences; `/` is the old way to write OR."""
    tokens = re.findall(r"\(|\)|AND\b|OR\b|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.-]+)?", expression.replace("/", " OR "))

    def alternatives() -> bool:
        met = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = conjunction() or met
        return met

    def conjunction() -> bool:
        met = single()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = single() and met
        return met

    def single() -> bool:
        token = tokens.pop(0) if tokens else ""
        if token != "(":
            return token in allowed
        met = alternatives()
        return met and bool(tokens) and tokens.pop(0) == ")"

    return alternatives() and not tokens


def main() -> int:
    """Prints each crate that fails; 1 if there is one."""
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    licences: dict[tuple[str, str], str] = {}
    for workspace in WORKSPACES:
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features", "--manifest-path", workspace]
        packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)["packages"]
        licences |= {(package["name"], package["version"]): package["license"] or "" for package in packages}
    refused = [each for each, licence in licences.items() if not accepted(licence, allowed)]
    for name, version in refused:
        print(f"{name} {version}: licence {licences[name, version]!r} is not in deny.toml")
    if not refused:
        print(f"licences: {len(licences)} crates, all in deny.toml")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
