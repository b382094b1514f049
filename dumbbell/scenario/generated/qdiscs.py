"""Queue disciplines as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.discipline import Discipline
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Size
from dumbbell.scenario.values.typed import CakeAckFilter, CakeFraming, CakeRtt, CakeSce, PieVariant, TcCommand


class Pfifo(Discipline):
    """FIFO limited in packets (Linux pfifo)."""

    depends_on_seed: ClassVar[bool] = False
    is_randomised: ClassVar[bool] = False

    kind: Literal["pfifo"] = "pfifo"
    limit: Limit
    """Limit of the queue, packets or `bdp`."""


class Bfifo(Discipline):
    """FIFO limited in bytes (Linux bfifo)."""

    depends_on_seed: ClassVar[bool] = False
    is_randomised: ClassVar[bool] = False

    kind: Literal["bfifo"] = "bfifo"
    limit: Limit
    """Limit of the queue, bytes or `bdp`."""


class Cake(Discipline):
    """Cake with tc's keywords, but `besteffort` unless `diffserv` says otherwise."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = False

    kind: Literal["cake"] = "cake"
    rate: Rate | None = None
    """tc's keyword bandwidth; by default the bottleneck's rate. Not allowed behind another shaper."""
    isolation: Literal["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"] = (
        "triple-isolate"
    )
    """Traffic that has a queue and a fair turn of its own: flows, hosts, or flows with fairness over hosts first."""
    rtt: CakeRtt = Duration.parse("100ms")
    """The interval of COBALT; its target is a twentieth of it. Or one of tc's words: `datacentre` (100us), `lan` (1ms), `metro` (10ms),
    `regional` (30ms), `internet` (100ms), `oceanic` (300ms), `satellite` (1s), `interplanetary` (1000s)."""
    overhead: Annotated[int, Field(ge=-64, le=256)] | None = None
    """Bytes added to each packet's IP length; None is tc's keyword `raw`: the length of the frame."""
    mpu: Annotated[int, Field(ge=0, le=256)] | None = None
    """The shortest length that a packet is charged for, bytes; by default 0 or what `framing` has."""
    framing: CakeFraming = "noatm"
    """Cells (`atm`, `ptm`, `noatm`), or tc's words for kinds of lines, which have their cells, `overhead` and `mpu`: `docsis`,
    `ethernet`, `pppoe_ptm`, `bridged_ptm`, `pppoe_vcmux` ... `conservative`, `raw`; or several of them, such as `[pppoe_ptm,
    ether_vlan]`, whose overheads add up."""
    memlimit: Size | None = None
    """Limit of the memory that packets take; by default cake derives it from the rate."""
    sce: CakeSce = False
    """The SCE ramp: true (`sce`), `single` (`sce-single`), N (`sce-thresh N`), or `single-steep`: `single` with the slope of `sce`."""
    diffserv: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] = "besteffort"
    """Tins: one, three, four or eight, by the DSCP; `precedence`: eight, by its three high bits. tc's default is diffserv3."""
    wash: Flag = False
    """Sets the codepoint of packets to 0, after it has chosen their tin."""
    ingress: Flag = False
    """Counts the packets that cake drops as sent, because they have already passed the link that it paces for. COBALT waits longer the
    more bulk flows there are."""
    ack_filter: CakeAckFilter = "off"
    """Drops ACKs that a later one in their queue makes needless: the older of two needless ACKs. `aggressive`: also a single one right
    before the later one."""
    autorate_ingress: Flag = False
    """The rate follows that at which packets come, beginning with `rate`. Not allowed behind another shaper."""
    nat: Flag = False
    """Host isolation by the addresses behind NAT. There is none here, so that this changes nothing."""


class Codel(Discipline):
    """CoDel (RFC 8289, Linux codel)."""

    depends_on_seed: ClassVar[bool] = False
    is_randomised: ClassVar[bool] = False

    kind: Literal["codel"] = "codel"
    variant: Literal["linux-6.12", "linux-3.10"] = "linux-6.12"
    """Version of the kernel's code."""
    limit: Limit = Limit.parse("1000p")
    """Limit of the queue, packets or `bdp`."""
    target: Duration = Duration.parse("5ms")
    """Sojourn time that the queue may have for longer than an interval without a signal."""
    interval: Duration = Duration.parse("100ms")
    """Time above the target until the first signal, about the longest RTT of the flows."""
    ecn: Flag = False
    """Marks ECN-capable packets instead of dropping them."""
    ce_threshold: Duration | None = None
    """Sojourn time above which packets are CE-marked."""


class FqCodel(Discipline):
    """FlowQueue-CoDel (RFC 8290, Linux fq_codel)."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = False

    kind: Literal["fq_codel"] = "fq_codel"
    variant: Literal["linux-6.12", "linux-3.10"] = "linux-6.12"
    """Version of the kernel's code. The code of 3.10 drops a single packet of the fattest flow when the limit is met."""
    limit: Limit = Limit.parse("10240p")
    """Limit of the queue, packets or `bdp`."""
    target: Duration = Duration.parse("5ms")
    """Sojourn time that the queue may have for longer than an interval without a signal."""
    interval: Duration = Duration.parse("100ms")
    """Time above the target until the first signal, about the longest RTT of the flows."""
    ecn: Flag = True
    """Marks ECN-capable packets instead of dropping them."""
    ce_threshold: Duration | None = None
    """Sojourn time above which packets are CE-marked."""
    ce_threshold_selector: Annotated[str, Field(pattern=r"^(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})/(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})$")] | None = None
    """VALUE/MASK: `ce_threshold` is only for packets whose DS field, with the ECN field, is VALUE where MASK has ones. `1/3`: ECT(1)."""
    flows: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Queues that flows are hashed to."""
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default the largest frame: 1514B, or the path's `mtu` and 14 bytes."""
    memory_limit: Size = Size.parse("32MiB")
    """Limit of the memory that packets take."""
    drop_batch: Annotated[int, Field(ge=1, le=4294967295)] = 64
    """Maximum number of packets dropped at once when the limit is met."""


class Pie(Discipline):
    """PIE (RFC 8033, Linux pie)."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = True

    kind: Literal["pie"] = "pie"
    variant: PieVariant = "linux-6.12"
    """`2013`: the module that its authors distributed before Linux had it; times in whole milliseconds."""
    limit: Limit = Limit.parse("1000p")
    """Limit of the queue, packets or `bdp`."""
    target: Duration = Duration.parse("15ms")
    """Sojourn time that the controller aims at."""
    tupdate: Duration = Duration.parse("15ms")
    """Time between updates of the drop probability."""
    alpha: Annotated[int, Field(ge=0, le=32)] = 2
    """Weight of the deviation from the target, in sixteenths, Hz."""
    beta: Annotated[int, Field(ge=0, le=32)] = 20
    """Weight of the trend of the delay, in sixteenths, Hz."""
    ecn: Flag = False
    """Marks ECN-capable packets instead of dropping them while the probability is low."""
    bytemode: Flag = False
    """Scales the probability by the packet's size."""
    dq_rate_estimator: Flag = False
    """Estimates the delay by Little's law (the departure rate) instead of from time stamps."""
    hz: Annotated[int, Field(ge=100, le=10000)] = 1000
    """Ticks a second, in which the variant 2013 counts time."""


class FqPie(Discipline):
    """FlowQueue-PIE (Linux fq_pie)."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = True

    kind: Literal["fq_pie"] = "fq_pie"
    limit: Limit = Limit.parse("10240p")
    """Limit of the queue, packets or `bdp`."""
    target: Duration = Duration.parse("15ms")
    """Sojourn time that the controller aims at."""
    tupdate: Duration = Duration.parse("15ms")
    """Time between updates of the drop probability."""
    alpha: Annotated[int, Field(ge=0, le=32)] = 2
    """Weight of the deviation from the target, in sixteenths, Hz."""
    beta: Annotated[int, Field(ge=0, le=32)] = 20
    """Weight of the trend of the delay, in sixteenths, Hz."""
    ecn: Flag = False
    """Marks ECN-capable packets instead of dropping them while the probability is low."""
    bytemode: Flag = False
    """Scales the probability by the packet's size."""
    dq_rate_estimator: Flag = False
    """Estimates the delay by Little's law (the departure rate) instead of from time stamps."""
    flows: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Queues that flows are hashed to."""
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default the largest frame: 1514B, or the path's `mtu` and 14 bytes."""
    memory_limit: Size = Size.parse("32MiB")
    """Limit of the memory that packets take."""
    ecn_prob: Annotated[int, Field(ge=0, le=100)] = 10
    """Drop probability (%) above which ECN-capable packets are dropped, too."""


class Red(Discipline):
    """RED (Floyd and Jacobson 1993, Linux red)."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = True

    kind: Literal["red"] = "red"
    limit: Limit
    """Limit of the real queue, not of its average, bytes or `bdp`."""
    min: Limit
    """Average queue at which marking begins, bytes or `bdp`."""
    max: Limit
    """Average queue at which marking is most likely, bytes or `bdp`."""
    probability: Annotated[float, Field(ge=1e-06, le=1)] = 0.02
    """Probability of a mark at `max`."""
    avpkt: Size = Size.parse("1kB")
    """Average packet, for the time constant and for idle times."""
    burst: Packets | None = None
    """Packets let through as a burst; by default (2 min + max) / (3 avpkt), tc's recommendation, but enough to reach `min`."""
    ecn: Flag = False
    """Marks ECN-capable packets instead of dropping them."""
    harddrop: Flag = False
    """Drops instead of marking above `max`."""
    nodrop: Flag = False
    """With `ecn`: lets packets pass that cannot be marked, where others are marked."""
    adaptive: Flag = False
    """Adapts the probability (Adaptive RED, Floyd et al. 2001); today's tc cannot start it on today's kernel."""
    gentle: Flag = False
    """Lets the probability rise above `max`, to 1 at twice `max` (Floyd 2000). Linux's RED cannot do this."""


class Sfq(Discipline):
    """Stochastic fairness queueing (McKenney 1990, Linux sfq)."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = False

    kind: Literal["sfq"] = "sfq"
    limit: Limit = Limit.parse("127p")
    """Limit of the queue, packets or `bdp`."""
    divisor: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Buckets that flows are hashed to; a power of two."""
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default the largest frame: 1514B, or the path's `mtu` and 14 bytes."""
    depth: Packets = Packets.parse("127p")
    """Maximum number of packets of a flow."""
    perturb: Duration = Duration.parse("0s")
    """Time between changes of the hash, in whole seconds; `0s`: never."""
    headdrop: Flag = False
    """Drops the oldest packet instead of the newest."""
    flows: Annotated[int, Field(ge=1, le=65408)] = 128
    """Maximum number of queues, at most `divisor`. Packets of further flows are dropped while all are taken."""


class Fq(Discipline):
    """Fair queue (Linux fq). On a router it only schedules flows, because it paces only local senders."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = False

    kind: Literal["fq"] = "fq"
    limit: Limit = Limit.parse("10000p")
    """Limit of the queue, packets or `bdp`."""
    flow_limit: Packets = Packets.parse("100p")
    """Maximum number of packets of a flow."""
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default two of the largest frames."""
    initial_quantum: Size | None = None
    """Bytes that a new flow may send in its first turn; by default ten of the largest frames."""
    refill_delay: Duration | None = None
    """Pause after which a flow has a whole turn again; by default 40 ms."""
    ce_threshold: Duration | None = None
    """Sojourn time above which packets are CE-marked."""


class DualPi2(Discipline):
    """DualPI2 (RFC 9332, Linux dualpi2): a queue with little delay for L4S traffic, and one for all else, whose marks and drops are
    coupled."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = True

    kind: Literal["dualpi2"] = "dualpi2"
    variant: Literal["linux-7.3", "rfc9332"] = "linux-7.3"
    """`rfc9332`: the pseudocode of RFC 9332, Appendix A, which marks L4S packets by a ramp, combines the two probabilities by their
    maximum and draws no random numbers. Its defaults differ: `tupdate: 15ms`, `alpha: 38`, `beta: 768`, and 250 ms of the link rate as
    `limit`."""
    limit: Limit = Limit.parse("10000p")
    """Limit of the queue, packets or `bdp`."""
    memlimit: Size | None = None
    """Memory limit of both queues. By default `limit` times two of the largest frames."""
    coupling_factor: Annotated[int, Field(ge=1, le=255)] = 2
    """Factor between the controller's probability and that of marks in the L4S queue. Classic packets are marked or dropped with the
    square of the controller's probability."""
    step_thresh: Duration = Duration.parse("1ms")
    """Sojourn time above which every packet of the L4S queue is marked."""
    step_packets: Packets | None = None
    """Length of the L4S queue above which every packet of it is marked. It replaces `step_thresh`; tc has one word for both."""
    min_qlen_step: Packets = Packets.parse("0p")
    """Length of the L4S queue from which on arriving packets are subject to the step."""
    ramp_from: Duration = Duration.parse("800us")
    """Delay of the L4S queue at which the ramp of its marks begins."""
    ramp_to: Duration = Duration.parse("1200us")
    """Delay of the L4S queue from which on every packet of it is marked."""
    drop_on_overload: Flag = True
    """Drops packets of both queues when marks alone do not suffice, so that the delay stays low. `false`: L4S packets are marked until
    the limit is met."""
    drop_enqueue: Flag = False
    """Applies the coupled probabilities when a packet arrives, not when it leaves."""
    ecn_mask: Literal["l4s_ect", "any_ect"] = "l4s_ect"
    """Packets of the L4S queue: those with ECT(1) or CE (`l4s_ect`), or all that are ECN-capable (`any_ect`)."""
    classic_protection: Annotated[int, Field(ge=0, le=100)] = 10
    """Share of the classic queue, per cent, while both queues have packets."""
    target: Duration = Duration.parse("15ms")
    """Delay that the controller aims at."""
    tupdate: Duration = Duration.parse("16ms")
    """Time between updates of the probability."""
    alpha: Annotated[int, Field(ge=1, le=2147483647)] = 41
    """Weight of the deviation from the target, 1/256 Hz: 41 is what tc writes as 0.16."""
    beta: Annotated[int, Field(ge=1, le=2147483647)] = 819
    """Weight of the trend of the delay, 1/256 Hz: 819 is what tc writes as 3.2."""
    split_gso: Flag = True
    """Splits chunks of several segments, so that each segment is marked or dropped on its own."""


class Dummynet(Discipline):
    """A pipe of FreeBSD's dummynet: tail drop by bytes that tests before it adds, and a shaper; rate and limit count IP packets."""

    depends_on_seed: ClassVar[bool] = False
    is_randomised: ClassVar[bool] = False

    kind: Literal["dummynet"] = "dummynet"
    limit: Limit
    """Limit of the queue, bytes or `bdp`. The queue may exceed it by one packet."""
    tick: Duration | None = None
    """Time between ticks of the kernel's clock, at which packets leave in bursts; by default the server is ideal."""


class Netem(Discipline):
    """netem that delays (Linux netem): it holds every packet for the same time, and drops packets that come while it is full."""

    depends_on_seed: ClassVar[bool] = False
    is_randomised: ClassVar[bool] = False

    kind: Literal["netem"] = "netem"
    delay: Duration
    """Delay of each packet; not part of the path's `rtt`."""
    limit: Limit = Limit.parse("1000p")
    """Maximum number of packets (or `bdp`), with those that are held for the delay."""
    tick: Duration | None = None
    """Time between clock ticks of a kernel before 2.6.22, at which packets leave in bursts; by default timers are exact."""


class Tc(Discipline):
    """Any queue discipline of Linux, as tc's command line names it."""

    depends_on_seed: ClassVar[bool] = True
    is_randomised: ClassVar[bool] = False

    kind: Literal["tc"] = "tc"
    command: TcCommand
    """Name and parameters, e.g. `hhf limit 1000`."""
