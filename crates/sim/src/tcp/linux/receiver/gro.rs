//! GRO: segments that the network card hands over at once are merged before TCP sees them (Linux 6.12 net/core/gro.c, net/ipv4/af_inet.c
//! `inet_gro_receive`, tcp_offload.c `tcp_gro_receive`), and TCP acknowledges what it gets as one packet once: the more came together, the
//! fewer ACKs. What came together is what arrives at one instant, which the card's port makes of what arrives while its interrupt waits.
//!
//! Leaves out: merging beyond eight flows in a bucket of the hash, one widening of the window for a merged packet instead of one for each of
//! its segments, one interval between data likewise, and a D-SACK of
//! all of a merged packet that is dropped: it reports the first segment.

use super::Receiver;
use crate::outbox::{End, Outbox};
use crate::packet::{ETHERNET, HEADERS};
use crate::segment::{flags, Segment};

/// A merged packet has fewer bytes, headers included (`gro_max_size`).
const MAX_SIZE: u32 = 65_536;
/// Header bits that may differ among the segments of a merged packet. The simulator marks what was sent before; no header tells.
const MAY_DIFFER: u16 = flags::FIN | flags::PSH | flags::RETRANSMISSION;

/// Segments that are merged so far.
#[derive(Clone, Copy, Debug)]
struct Merged {
    /// The segment that continues it.
    next: u32,
    bytes: u32,
    tsval: u32,
    tsecr: u32,
    flags: u16,
}

/// Merging of segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gro {
    on: bool,
    open: Option<Merged>,
}

impl Gro {
    pub fn new(on: bool) -> Self {
        Self { on, open: None }
    }

    /// The host merges.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// True if a packet goes into what is merged so far: the next segment, with the same timestamps and codepoint.
    fn continues(&self, p: &Segment, payload: u32) -> bool {
        self.open.is_some_and(|open| {
            p.seq == open.next
                && (p.tsval, p.tsecr) == (open.tsval, open.tsecr)
                && (p.flags ^ open.flags) & !MAY_DIFFER == 0
                && !p.has(flags::CWR)
                && payload > 0
                && open.bytes + payload < MAX_SIZE
        })
    }

    /// A packet was merged, or begins a merged packet.
    fn add(&mut self, p: &Segment, payload: u32) {
        let bytes = self.open.map_or(HEADERS - ETHERNET, |open| open.bytes) + payload;
        self.open = Some(Merged { next: p.seq + 1, bytes, tsval: p.tsval, tsecr: p.tsecr, flags: p.flags });
    }
}

impl Receiver {
    /// Does the work of [`Self::on_data`] on a host that merges. A step that depends on a single segment is done at once; whether to acknowledge is
    /// asked when the merged packet ends: with a gap, a short segment, another codepoint or timestamp, PSH or FIN, at 64 KiB, or with all
    /// that arrives at this time.
    pub(super) fn on_data_to_merge(&mut self, p: &Segment, out: &mut impl Outbox) {
        let payload = u32::from(p.len) - HEADERS;
        let begins = !self.gro.continues(p, payload);
        if begins {
            self.end_merged(out);
        }
        let before = self.rcv_nxt;
        if !self.refuses(p) {
            self.layout.hear(p.seq, payload);
            self.take_timestamps(p, out.now());
            self.forget_duplicate_before(p);
            self.queue_data(p, out);
        } else if begins {
            self.refuse(p.seq, p.seq + 1, out);
        }
        self.application.some |= self.rcv_nxt > before;
        self.gro.add(p, payload);
        if payload < self.layout.mss() || p.has(flags::PSH | flags::FIN | flags::CWR) {
            self.end_merged(out);
        }
        if !std::mem::replace(&mut self.application.waits, true) {
            out.act_last(p.flow(), End::Receiver);
        }
    }

    /// Nothing more is merged into what there is: TCP gets it.
    pub(super) fn end_merged(&mut self, out: &mut impl Outbox) {
        if self.gro.open.take().is_some() && self.delay.is_scheduled() {
            self.check_ack(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::LoneOutbox;
    use crate::packet::{Ecn, Way, ACK_FRAME, MSS, NO_ATTACHMENT, SYN_FRAME};
    use crate::tcp::common::layout::tests::bulk_flow;
    use crate::tcp::linux::receiver::SOURCES;
    use crate::tcp::linux::test_ends::stack;
    use crate::time::MS;

    /// Segments after which quick ACKs are used up while the window still grows, and after which it has grown.
    const GROWING: u32 = 61;
    const GROWN: u32 = 301;

    /// A receiver on a host that merges, for whom segment `next` comes next.
    struct Host {
        receiver: Receiver,
        out: LoneOutbox,
    }

    impl Host {
        fn new(next: u32) -> Self {
            let mut spec = bulk_flow();
            // A window that has grown as far as it may makes the first ACKs of a burst wait for the read.
            (spec.gro, spec.host.rcvbuf) = (true, (next == GROWN).then_some(600_000));
            let receiver = Receiver::new(0, 0, &spec, &stack("linux-6.12"), &crate::cc::Needs::NOTHING);
            let mut host = Self { receiver, out: LoneOutbox::new(SOURCES) };
            host.arrive(&[Segment { len: SYN_FRAME as u16, ..data(0, flags::SYN) }]);
            host.arrive(&[Segment { len: ACK_FRAME as u16, ..data(1, flags::HANDSHAKE) }]);
            (1..next).for_each(|seq| drop(host.arrive(&[data(seq, 0)])));
            host
        }

        /// The ACK numbers that packets bring about which arrive at one instant.
        fn arrive(&mut self, packets: &[Segment]) -> Vec<u32> {
            self.out.now += MS;
            for p in packets {
                let tsval = p.tsval + (self.out.now / MS) as u32;
                self.receiver.on_packet(&Segment { tsval, ..*p }, &mut self.out);
            }
            self.receiver.on_application(&mut self.out);
            self.out.take_sent().iter().map(|p| p.seq).collect()
        }
    }

    /// A full segment with these header bits. It echoes nothing that would be a sample of the RTT.
    fn data(seq: u32, flags: u16) -> Segment {
        let (way, len, attachment) = (Way::new(0), (HEADERS + MSS) as u16, NO_ATTACHMENT);
        Segment { way, len, flags, seq, window: 0, tsval: 0, tsecr: u32::MAX, attachment }
    }

    fn run(from: u32, to: u32) -> Vec<Segment> {
        (from..to).map(|seq| data(seq, 0)).collect()
    }

    #[test]
    fn what_is_merged_is_acknowledged_once() {
        let mut host = Host::new(GROWN);
        assert_eq!(host.arrive(&run(GROWN, GROWN + 20)), [GROWN + 20]);
        assert_eq!(host.arrive(&run(GROWN + 20, GROWN + 22)), [GROWN + 22]);
        let alone = [host.arrive(&run(GROWN + 22, GROWN + 23)), host.arrive(&run(GROWN + 23, GROWN + 24))];
        assert_eq!(alone, [vec![], vec![GROWN + 24]]);
    }

    #[test]
    fn a_merged_packet_holds_64_kib() {
        let acks = Host::new(GROWING).arrive(&run(GROWING, GROWING + 100));
        assert_eq!(acks, [45, 90, 100].map(|n| GROWING + n));
    }

    #[test]
    fn it_ends_where_the_kernel_ends_it() {
        type Change = fn(&mut Segment);
        let ends: [(&str, Change, u32); 5] = [
            ("PSH ends it after the segment", |p| p.flags |= flags::PSH, 5),
            ("a short one likewise", |p| p.len -= 100, 5),
            ("another codepoint is not merged", |p| p.set_ecn(Ecn::Ect0), 4),
            ("nor is another timestamp", |p| p.tsval += 1, 4),
            ("nor CWR", |p| p.flags |= flags::CWR, 4),
        ];
        for (what, change, first) in ends {
            let mut packets = run(GROWING, GROWING + 10);
            change(&mut packets[4]);
            assert_eq!(Host::new(GROWING).arrive(&packets).first(), Some(&(GROWING + first)), "{what}");
        }
        let sent_again = |p: &Segment| Segment { flags: flags::RETRANSMISSION, ..*p };
        let again: Vec<_> = run(GROWING, GROWING + 10).iter().map(sent_again).collect();
        assert_eq!(Host::new(GROWING).arrive(&again), [GROWING + 10], "no header tells that it was sent before");
    }

    #[test]
    fn behind_a_gap_one_duplicate_ack_tells_of_all_that_was_merged() {
        let mut host = Host::new(GROWING);
        assert_eq!(host.arrive(&run(GROWING + 9, GROWING + 19)), [GROWING]);
        assert_eq!(host.arrive(&run(GROWING, GROWING + 9)).last(), Some(&(GROWING + 19)));
    }
}
