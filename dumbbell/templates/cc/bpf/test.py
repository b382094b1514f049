"""Runs @NAME@ on its scenario: the bottleneck is full, and the other flow has its part of it. `make test` calls this."""

from pathlib import Path

import dumbbell

scenario = dumbbell.Scenario.from_file(Path(__file__).parent / "@NAME@.yaml")
(run,) = dumbbell.run(scenario, allow_module=True)
assert run.status == "ok", run.reasons
rx = {row["flow"]: row["rx_bytes"] * 8 / 30e6 for row in run.flows.rows()}
print(", ".join(f"{flow} {rate:.2f} Mbit/s" for flow, rate in rx.items()))
assert sum(rx.values()) > 0.85 * 20, "the bottleneck is not full"
assert min(rx.values()) > 1, "a flow is starved"
