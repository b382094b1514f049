"""Settings of hosts as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dumbbell.documents.model import Flag, Model
from dumbbell.scenario.units import Duration, Packets, Rate, Size
from dumbbell.scenario.values.typed import Sysctls


class Host(Model):
    """Settings of the two hosts of a flow that are not TCP's."""

    offload: Literal["none", "tso", "on"] = "none"
    """`none`: TCP sends packet by packet; `tso`: it builds TSO segments, which the host cuts into packets; `on`: TSO segments travel
    through the network whole, as between virtual machines."""
    rcvbuf: Size | None = None
    """SO_RCVBUF as the application sets it (Linux doubles it): no auto-tuning."""
    sndbuf: Size | None = None
    """SO_SNDBUF as the application sets it (Linux doubles it): no auto-tuning."""
    reads: Rate | None = None
    """Rate at which the receiving application reads. It reads every 10 ms. By default it reads all there is at once."""
    nodelay: Flag = False
    """TCP_NODELAY, as browsers, web servers and remote shells set it. Without it, as by default in sockets, the short end of a write
    waits while another short segment is outstanding (Nagle, in Minshall's variant). Bulk flows have no short end."""
    max_pacing_rate: Rate | None = None
    """SO_MAX_PACING_RATE: senders pace their packets, no faster than this. By default they pace only if the congestion control asks for
    it. It is an error on stacks without pacing (linux-3.9, linux-2.6, freebsd-9)."""
    rmem: Literal["kernel"] | Annotated[list[Size], Field(min_length=3, max_length=3)] = Field(
        default=[Size.parse("4KiB"), Size.parse("128KiB"), Size.parse("6MiB")]
    )
    """sysctl tcp_rmem of Linux: minimum (without effect in the simulator), initial, maximum.

    `kernel`: the kernel's own sizes on a machine with enough memory. Series of Linux differ there, and the engine `kernel` gives its
    guest the memory. In the simulator it is the default.
    """
    sender_rmem: Literal["kernel"] | Annotated[list[Size], Field(min_length=3, max_length=3)] | None = None
    """sysctl tcp_rmem of the host that sends the data, by default that of `rmem`. It gives the window that this host advertises, which
    only captures show where no data come back."""
    wmem: Literal["kernel"] | Annotated[list[Size], Field(min_length=3, max_length=3)] = Field(
        default=[Size.parse("4KiB"), Size.parse("16KiB"), Size.parse("4MiB")]
    )
    """sysctl tcp_wmem of Linux: minimum, initial (both without effect in the simulator), maximum; or `kernel`."""
    gro: Duration | None = None
    """For the receiving host: time between the first unreported packet and the network card's interrupt (rx-usecs). GRO merges the
    packets that came until then. By default every packet is reported at once and none are merged."""
    cached_ssthresh: Packets | None = None
    """ssthresh that the metrics cache has stored for the destination."""
    sysctls: Sysctls = Field(default_factory=dict)
    """Settings of the kernel's network on both hosts, e.g. `net.ipv4.tcp_early_retrans: 0`."""
