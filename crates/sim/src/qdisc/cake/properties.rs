//! Properties that hold for any arrival pattern.

use proptest::prelude::*;

use super::tests::{limited, spec};
use crate::packet::{Agreed, Direction, Ecn, FlowTuple, Packet, ACK_FRAME, FULL_FRAME};
use crate::pool;
use crate::qdisc::lab::{packet, queue_context, Answer, Lab};
use crate::qdisc::{AnyQdisc, Qdisc, Verdict};
use crate::rng::Rng;
use crate::spec::CakeIsolation::{self, *};
use crate::spec::{CakeAckFilter, CakeDiffserv, CakeMore, QdiscSpec};
use crate::time::{Time, MS, NEVER};

/// Flows of a pattern: few enough for queues of their own.
const FLOWS: u32 = 6;

/// An arrival: flow, length, whether ECN-capable, ns since the one before.
type Arrival = (u32, u32, bool, u64);

#[derive(Clone, Debug)]
struct Pattern {
    rate_bps: Option<u64>,
    isolation: CakeIsolation,
    memory: u64,
    sce: u32,
    /// Tins, and keywords that few use.
    tins: (CakeDiffserv, CakeMore),
    seed: u64,
    arrivals: Vec<Arrival>,
}

fn tins() -> impl Strategy<Value = (CakeDiffserv, CakeMore)> {
    use CakeDiffserv::{Besteffort, Diffserv3, Diffserv4, Diffserv8, Precedence};
    let diffserv = prop::sample::select(vec![Besteffort, Diffserv3, Diffserv4, Diffserv8, Precedence]);
    let filter = prop::sample::select(vec![CakeAckFilter::Off, CakeAckFilter::On, CakeAckFilter::Aggressive]);
    let more = (any::<(bool, bool, bool)>(), filter).prop_map(|((wash, ingress, autorate_ingress), ack_filter)| {
        CakeMore { wash, ingress, ack_filter, autorate_ingress }
    });
    prop_oneof![Just((Besteffort, CakeMore::default())), (diffserv, more)]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let isolation =
        prop::sample::select(vec![Flowblind, Srchost, Dsthost, Hosts, Flows, DualSrchost, DualDsthost, TripleIsolate]);
    let rate = prop::option::weighted(0.9, 100_000..200_000_000_u64);
    let sce = prop::sample::select(vec![0, 1, 8, 65534, 65535]);
    let gap = prop_oneof![4 => Just(0), 4 => 0..100_000_u64, 1 => 0..50 * MS];
    let arrivals = prop::collection::vec((0..FLOWS, 60..1515_u32, any::<bool>(), gap), 1..400);
    (rate, isolation, 2_000..300_000_u64, sce, tins(), any::<u64>(), arrivals).prop_map(
        |(rate_bps, isolation, memory, sce, tins, seed, arrivals)| Pattern {
            rate_bps,
            isolation,
            memory,
            sce,
            tins,
            seed,
            arrivals,
        },
    )
}

/// The packets sent and dropped, with their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct History {
    sent: Vec<(Time, usize, u32, u16, Ecn)>,
    dropped: Vec<(usize, u32, u16)>,
}

/// A cake at work, with the invariants checked at each step.
struct Run {
    lab: Lab,
    history: History,
    offered: (usize, u64),
    ingress: bool,
}

impl Run {
    fn new(pattern: &Pattern) -> Self {
        let mut spec = limited(spec(pattern.rate_bps, pattern.isolation, pattern.sce), pattern.memory);
        if let QdiscSpec::Cake { diffserv, more, .. } = &mut spec {
            (*diffserv, *more) = pattern.tins;
        }
        // Three sources and two destinations; two flows of each of three codepoints.
        let of = |i: u32| FlowTuple {
            src: i % 3,
            dst: i % 2,
            sport: i as u16,
            dport: 80,
            dscp: [0, 8, 46][i as usize / 2],
            agreed: Agreed::default(),
        };
        let mut rng = Rng::for_component(pattern.seed, "port/q");
        let qdisc = AnyQdisc::build(&spec, FULL_FRAME, &mut rng).unwrap();
        let lab = Lab::with(qdisc, queue_context(rng, (0..FLOWS).map(of).collect()));
        Self { lab, history: History::default(), offered: (0, 0), ingress: pattern.tins.1.ingress }
    }

    fn collect_drops(&mut self) {
        self.history.dropped.extend(self.lab.dropped.drain(..).map(|(p, _)| (p.flow(), p.number(), p.len)));
    }

    fn arrive(&mut self, p: Packet) {
        self.offered.0 += 1;
        self.offered.1 += u64::from(p.len);
        let verdict = self.lab.offer(p);
        let own = self.lab.dropped.iter().any(|(d, _)| (d.flow(), d.number()) == (p.flow(), p.number()));
        assert_eq!(own, verdict == Verdict::Dropped);
        assert!(verdict != Verdict::Congestion || !self.lab.dropped.is_empty());
        self.collect_drops();
        self.check();
    }

    /// Everything is sent, dropped or held.
    fn check(&self) {
        let h = &self.history;
        let count = h.sent.len() + h.dropped.len() + self.lab.qdisc.packets();
        let bytes: u64 = h.sent.iter().map(|s| u64::from(s.3)).chain(h.dropped.iter().map(|d| u64::from(d.2))).sum();
        assert_eq!((count, bytes + self.lab.qdisc.bytes()), self.offered);
        assert_eq!(self.lab.found(), (self.lab.qdisc.packets(), self.lab.qdisc.bytes()));
    }

    /// Let packets go that may go up to `until`, as a port does.
    fn release(&mut self, until: Time) {
        loop {
            let mut leaving = pool::Queue::default();
            let (next, released) = self.lab.act(|cake, s| {
                let next = cake.release(s, &mut leaving);
                let ids = std::iter::from_fn(|| leaving.pop(&s.packets)).collect::<Vec<_>>();
                (next, ids.into_iter().map(|id| s.packets.take(id)).collect::<Vec<_>>())
            });
            self.collect_drops();
            let now = self.lab.now;
            self.history.sent.extend(released.iter().map(|p| (now, p.flow(), p.number(), p.len, p.ecn())));
            self.check();
            if next > until || next == NEVER {
                break;
            }
            self.lab.now = next;
        }
        if until != Time::MAX {
            self.lab.now = until;
        }
    }

    /// Serves the queue up to `until`.
    fn serve(&mut self, until: Time) {
        loop {
            let held = self.lab.qdisc.packets();
            let answer = self.lab.dequeue();
            self.collect_drops();
            match answer {
                Answer::Packet(p) => {
                    self.history.sent.push((self.lab.now, p.flow(), p.number(), p.len, p.ecn()));
                    assert_eq!(self.lab.qdisc.stats().last_sojourn, self.lab.sojourn);
                }
                Answer::Empty => {
                    assert_eq!(held, 0, "idle with packets held");
                    break;
                }
                Answer::Wait(t) => {
                    assert!(held > 0 && t > self.lab.now, "a wait that is none");
                    if t > until {
                        break;
                    }
                    self.lab.now = t;
                    // Allowed to send now, so it must, unless in ingress mode a packet that it dropped has taken the time.
                    let answer = self.lab.dequeue();
                    let drops = self.lab.dropped.len();
                    self.collect_drops();
                    match answer {
                        Answer::Packet(p) => self.history.sent.push((t, p.flow(), p.number(), p.len, p.ecn())),
                        Answer::Wait(_) if self.ingress && drops > 0 => {}
                        Answer::Wait(_) | Answer::Empty => panic!("idle when allowed to send"),
                    }
                }
            }
            self.check();
        }
        if until != Time::MAX {
            self.lab.now = until;
        }
    }
}

fn run(pattern: &Pattern, serve: fn(&mut Run, Time)) -> History {
    let mut run = Run::new(pattern);
    for (seq, &(flow, len, ect, gap)) in (0..).zip(&pattern.arrivals) {
        let at = run.lab.now + gap;
        serve(&mut run, at);
        let p = packet(flow, len, seq, if ect { Ecn::Ect0 } else { Ecn::NotEct });
        // The last flow sends ACKs, each for more than the one before.
        let ack = Packet { flags: p.flags | Direction::Reverse.flags(), len: ACK_FRAME as u16, ..p };
        run.arrive(if flow + 1 == FLOWS { ack } else { p });
    }
    serve(&mut run, Time::MAX);
    let memory = match &run.lab.qdisc {
        AnyQdisc::CakeTins(cake) => cake.memory(),
        AnyQdisc::Cake(cake) => cake.memory,
        _ => unreachable!("the discipline is a cake"),
    };
    assert_eq!((run.lab.qdisc.packets(), run.lab.qdisc.bytes(), memory), (0, 0, 0));
    let of_tins = run.lab.qdisc.classes();
    let offered = of_tins.iter().fold((0, 0), |sum, tin| (sum.0 + tin.arrived_packets, sum.1 + tin.arrived_bytes));
    let dropped: u64 = of_tins.iter().map(|tin| tin.dropped + tin.tin.map_or(0, |tin| tin.ack_drops)).sum();
    if !of_tins.is_empty() {
        assert_eq!((offered.0 as usize, offered.1), run.offered);
        assert_eq!(dropped, run.history.dropped.len() as u64);
    }
    run.history
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn packets_are_conserved_in_order_without_idling(pattern in pattern()) {
        let history = run(&pattern, Run::serve);
        for flow in 0..FLOWS {
            let order: Vec<u32> = history.sent.iter().filter(|s| s.1 == flow as usize).map(|s| s.2).collect();
            prop_assert!(order.is_sorted_by(|a, b| a < b), "flow {flow}: {order:?}");
        }
        let capable = |seq: u32| pattern.arrivals[seq as usize].2;
        prop_assert!(history.sent.iter().all(|s| capable(s.2) == (s.4 != Ecn::NotEct)));
        prop_assert!(pattern.sce > 0 || history.sent.iter().all(|s| s.4 != Ecn::Ect1));
    }

    #[test]
    fn same_pattern_same_history(pattern in pattern()) {
        prop_assert_eq!(run(&pattern, Run::serve), run(&pattern, Run::serve));
    }

    #[test]
    fn what_is_let_go_at_once_is_what_is_taken_one_by_one(pattern in pattern()) {
        prop_assert_eq!(run(&pattern, Run::release), run(&pattern, Run::serve));
    }
}
