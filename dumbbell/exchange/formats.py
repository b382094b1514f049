"""The formats by name."""

from __future__ import annotations

from collections.abc import Mapping

WRITTEN: Mapping[str, str] = {
    "flent": "flent",
    "iperf3": "iperf3",
    "xpl": "xplot",
    "mahimahi-log": "mahimahi",
    "teacup": "siftr_extracts",
    "csv": "long_csv",
    "parquet": "parquet",
    "qlog": "qlog",
}
"""Format -> the module in dumbbell.exchange.writers that has its function `write`."""
READ: Mapping[str, str] = {
    "flent": "flent",
    "iperf3": "iperf3",
    "irtt": "irtt",
    "ss": "ss",
    "siftr": "siftr",
    "web10g": "web10g",
    "mahimahi-log": "mahimahi",
    "qlog": "qlog",
    "csv": "long_csv",
}
"""Format -> the module in dumbbell.exchange.readers, which has `VERSION` (that of the reader's output), `recognises` and `found_in`. A file
belongs to the first one that recognises it."""
