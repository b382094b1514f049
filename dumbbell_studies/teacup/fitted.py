"""Choices that the report leaves open and that its figures decided.

- The memory that a segment takes of the send buffer on the Linux hosts: 4352 bytes with a headroom of 304 bytes, 2304 bytes with at most
  272. The report does not print the configuration of its kernel, on which the headroom depends. Its figures 9 and 10 decide. With 2304
  bytes a lone CUBIC flow grows to 530 kB and loses packets, where the report shows a steady window of slightly more than 400 kB.
"""

from __future__ import annotations

from dumbbell.study.model import Fitted

LINUX = "linux"
"""Override of an option of the Linux hosts' stack: `linux.OPTION`."""

FITTED = (
    Fitted(
        "headroom",
        "a segment takes 4352 bytes of a Linux host's send buffer (headroom of 304 bytes)",
        "2304 bytes (headroom of at most 272 bytes)",
        "the plateau of 400 kB without losses in figures 9 and 10",
        {f"{LINUX}.send_truesize": 2304},
    ),
)
"""Choices of the study that were made to fit the report's figures, each with its alternative."""
