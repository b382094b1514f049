"""Choices that the page leaves open and that its numbers decided.

- FAST's alpha, in the ablations: the page prints no parameter of FAST. Its utilisation at 320 ms falls as buffers grow, as it does if each
  flow keeps alpha packets in queues and the queue of the way back counts as well.
- The windows of the web transfers, in the ablations: the page prints none. With 128 KiB, the most that kernels of the time
  tune to, web transfers take little of the high-speed flows; with 1 MB, and sizes that give the same variability, the bursts of their slow
  starts do.
- The clock of the routers, in the ablations: dummynet serves its queues at ticks. The page does not print their distance.
- Utilisation is compared as payload, 1448/1500 of the IP packets: the page's utilisations end at 0.96 where the link is never idle.
  The format `ncsu_utilization_ip` has the agreement in IP packets next to it, of the same runs.
"""

from __future__ import annotations

from dumbbell.study.model import Fitted

_EVIDENCE = "the fall of FAST's utilisation with the buffer; 100 is also the default of its ns-2 module"

FITTED = (
    *(
        Fitted(
            f"fast-alpha-{alpha}",
            "FAST keeps 100 segments of each flow in queues (alpha)",
            f"alpha {alpha}, which runs of FAST alone show",
            _EVIDENCE,
            {"fast.alpha": alpha},
        )
        for alpha in (50, 200)
    ),
    Fitted(
        "dummynet-tick",
        "dummynet serves its queues every millisecond",
        "without a clock, each packet when the line is free",
        "the utilisation of flows at 320 ms, most of all of many: bursts of 33 packets every tick desynchronise their losses",
        {"dummynet.tick": None},
    ),
    Fitted(
        "web-windows",
        "web transfers of type 1 have windows of 128 KiB",
        "1 MB, with a calibration of their own",
        "the utilisation of all protocols at 320 ms, and the load of the way back, whose queue FAST's numbers say is nearly full",
        {"web.type1": "type1-large-windows"},
    ),
)
