//! The receivers of both implementations, driven by any sequence of packets and times that a network can make of a sender's segments: lost,
//! repeated, delayed, marked, in any order.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use dumbbell_sim::cc::Needs;
use dumbbell_sim::outbox::{End, LoneOutbox, Outbox};
use dumbbell_sim::packet::{Ecn, Way, ACK_FRAME, FULL_FRAME, HEADERS, MSS, NO_ATTACHMENT, SYN_FRAME};
use dumbbell_sim::segment::{flags, Segment};
use dumbbell_sim::spec::{StackSpec, TcpSpec};
use dumbbell_sim::tcp::endpoint::Receiver;
use dumbbell_sim::tcp::implementation::{listing, Implementation};
use dumbbell_sim::tcp::transport::ReceivingEnd;
use dumbbell_sim::tcp::{bsd, linux};
use dumbbell_sim::time::{Time, MS, NEVER};
use serde_json::{json, Map};

/// Every stack, with its settings in the description of a flow.
static STACKS: LazyLock<Vec<(StackSpec, Implementation)>> = LazyLock::new(|| {
    let named = |name| {
        let spec = StackSpec { name, options: Map::new() };
        let made = Implementation::from_spec(&spec).expect("a stack of the listing");
        (spec, made)
    };
    listing().into_iter().map(|(name, _)| named(name)).collect()
});
const BUFFERS: [Option<u64>; 4] = [None, Some(3_000), Some(40_000), Some(1 << 20)];
const TIMERS: usize = linux::receiver::SOURCES;
/// Bytes of the input for each step.
const STEP: usize = 4;
const MOST_STEPS: usize = 4_000;
/// Timer events at one time, and packets that one arrival or timer brings about, in which something goes around in circles.
const MOST_AT_ONCE: usize = 64;

/// A receiver with the knowledge of the sender and the network about it.
struct World {
    receiver: Receiver,
    line: LoneOutbox,
    /// Segments of the transfer; the next number is the FIN's.
    segments: u32,
    /// Payload of the last one, bytes.
    last_payload: u32,
    /// Segments that have been sent to it.
    arrived: BTreeSet<u32>,
    /// The highest acknowledgment number, and the highest right edge of the window, in bytes.
    acked: u32,
    edge: u64,
    read: u64,
}

/// Drives a receiver: the first four bytes choose which, every further four bytes are a step.
///
/// # Panics
/// It acknowledges or delivers what did not come, goes back, takes a window away, or goes around in circles.
pub fn run(input: &[u8]) {
    let Some((head, steps)) = input.split_first_chunk::<STEP>() else { return };
    let mut world = World::new(*head);
    for step in steps.chunks_exact(STEP).take(MOST_STEPS) {
        world.step(step.try_into().expect("chunks have this length"));
    }
    // Lost segments are retransmitted in the end.
    if world.established() {
        let missing: Vec<u32> = (1..=world.segments.min(world.acked + 200)).collect();
        for seq in missing {
            world.data(seq, 0, world.now_ms());
        }
        world.wait(10_000 * MS);
        let expected = world.segments.min(200).max(world.acked);
        assert!(world.acked >= expected, "{} of {expected} acknowledged", world.acked);
    }
}

impl World {
    fn new([stack, host, end, first]: [u8; STEP]) -> Self {
        let (named, made) = &STACKS[usize::from(stack) % STACKS.len()];
        let linux = matches!(made, Implementation::Linux(_));
        let ecn = linux && stack & 0x10 != 0;
        // Transfers of 1 to 256 segments, one of them short, or without an end for all practical purposes.
        let (segments, last_payload) = match end {
            0 => (1 << 24, MSS),
            _ => (u32::from(end), 1 + u32::from(first) * 5),
        };
        let bytes = u64::from(segments - 1) * u64::from(MSS) + u64::from(last_payload.min(MSS));
        let spec: TcpSpec = serde_json::from_value(json!({
            "id": "f", "path": 0, "from": 0, "to": 1, "direction": "forward", "opener": "from", "cc": {"kind": "reno"},
            "stack": named, "ecn": ecn, "sce_echo": ecn && stack & 0x20 != 0,
            "host": {
                "tso": false, "rmem": [4096, 131_072, 6_291_456], "rcvbuf": BUFFERS[usize::from(host) % BUFFERS.len()],
                "wmem": [4096, 16384, 4_194_304], "sndbuf": null, "cached_ssthresh": null,
            },
            "transfer_bytes": bytes, "first_write_bytes": null, "connections": [],
        }))
        .expect("a description of a flow");
        let receiver = match made {
            Implementation::Linux(stack) => Receiver::Linux(linux::receiver::Receiver::new(
                0,
                0,
                &spec,
                stack,
                &Needs { ecn: host & 0x10 != 0, ..Needs::NOTHING },
            )),
            Implementation::Bsd(stack) => Receiver::Bsd(bsd::receiver::Receiver::new(0, 0, &spec, stack)),
        };
        let mut line = LoneOutbox::new(TIMERS);
        line.now = MS;
        let last_payload = last_payload.min(MSS);
        let arrived = BTreeSet::new();
        Self { receiver, line, segments, last_payload, arrived, acked: 0, edge: 0, read: 0 }
    }

    fn established(&self) -> bool {
        self.acked > 0
    }

    fn now_ms(&self) -> u32 {
        (self.line.now / MS) as u32
    }

    fn step(&mut self, [kind, a, b, c]: [u8; STEP]) {
        let late = u32::from(c >> 4);
        let tsval = self.now_ms().saturating_sub(late * late);
        match kind % 8 {
            // Data around the expected number: behind it, at it, ahead of it.
            0..=2 => self.data((self.acked + u32::from(a)).saturating_sub(16).max(1), b, tsval),
            3 => self.data(self.acked.max(1), b, tsval),
            // Far ahead, up to beyond the window; near the end of the transfer.
            4 => self.data(self.acked + u32::from(a) * 64 + u32::from(c), b, tsval),
            5 => self.data((self.segments + 1).saturating_sub(u32::from(a) % 4).max(1), b, tsval),
            6 => self.wait(u64::from(a) * u64::from(b) * u64::from(c) * 1000),
            _ => match a % 4 {
                0 => self.packet(0, SYN_FRAME, flags::SYN, tsval),
                1 => self.packet(1, ACK_FRAME, flags::HANDSHAKE, tsval),
                // The answer to its FIN comes only if that was sent: after all was acknowledged.
                2 if self.acked > self.segments + 1 => self.packet(0, ACK_FRAME, flags::CLOSED, tsval),
                _ => self.wait(u64::from(b) * 1000),
            },
        }
    }

    /// A segment of the transfer, or its FIN; a sender has no others.
    fn data(&mut self, seq: u32, bits: u8, tsval: u32) {
        let seq = seq.min(self.segments + 1);
        let payload = match seq {
            seq if seq < self.segments => MSS,
            seq if seq == self.segments => self.last_payload,
            _ => 0,
        };
        let linux = matches!(self.receiver, Receiver::Linux(_));
        // FreeBSD's sender has no FIN.
        let fin = linux && seq >= self.segments && (seq > self.segments || bits & 1 != 0);
        if payload == 0 && !fin {
            return;
        }
        let ecn =
            if linux { [Ecn::NotEct, Ecn::Ect0, Ecn::Ce, Ecn::Ect1][usize::from(bits >> 6)] } else { Ecn::NotEct };
        let more = [(2, flags::PSH), (4, flags::CWR), (8, flags::RETRANSMISSION)];
        let bits = more.iter().filter(|(bit, _)| bits & bit != 0).fold(ecn.flags(), |all, (_, flag)| all | flag);
        self.arrived.insert(seq);
        if payload > 0 && fin {
            self.arrived.insert(seq + 1);
        }
        self.packet(seq, (HEADERS + payload).min(FULL_FRAME), bits | if fin { flags::FIN } else { 0 }, tsval);
    }

    fn packet(&mut self, seq: u32, len: u32, flags: u16, tsval: u32) {
        let tsecr = tsval.saturating_sub(20);
        let p = Segment {
            way: Way::new(0),
            len: len as u16,
            flags,
            seq,
            window: 0,
            tsval,
            tsecr,
            attachment: NO_ATTACHMENT,
        };
        self.receiver.on_packet(&p, &mut self.line);
        self.look();
    }

    /// Lets time pass; timers that are due come in their order.
    fn wait(&mut self, ns: Time) {
        let end = self.line.now + ns;
        let mut at_once = 0;
        while let Some((at, which)) = self.line.next_timer().filter(|t| t.0 <= end) {
            at_once = if at > self.line.now { 0 } else { at_once + 1 };
            assert!(at_once < MOST_AT_ONCE, "a timer comes again and again");
            self.line.now = at;
            self.line.set_timer(which, NEVER);
            self.receiver.on_timer(which, &mut self.line);
            self.look();
        }
        self.line.now = end;
    }

    /// Look at all that the receiver has sent and delivered.
    fn look(&mut self) {
        let sent = self.line.take_sent_by::<Segment>();
        assert!(sent.len() < MOST_AT_ONCE, "{} packets at once", sent.len());
        for (from, p) in sent {
            assert_eq!(from, End::Receiver);
            assert!(p.is_reverse(), "a packet without an acknowledgment");
            let blocks = *self.line.take_attachment(p.attachment).blocks();
            for &(start, end) in blocks.as_slice() {
                assert!(
                    start < end && (start..end).all(|seq| self.arrived.contains(&seq)),
                    "{start}..{end} did not come"
                );
            }
            let come = (self.acked.max(1)..p.seq).all(|seq| self.arrived.contains(&seq));
            assert!(come, "{} acknowledged, of which some did not come", p.seq);
            // An ACK for an older point, of which ECN knows, says nothing of the window; that of a SYN-ACK is not scaled.
            if p.seq >= self.acked && !p.has(flags::SYN) {
                let edge = u64::from(p.seq) * u64::from(MSS) + u64::from(p.window);
                let rounding = 1 << self.receiver.window_scale();
                assert!(
                    p.seq > self.segments || edge + rounding > self.edge,
                    "the window's edge goes back: {edge} < {}",
                    self.edge
                );
                self.edge = self.edge.max(edge);
                self.acked = p.seq;
            }
        }
        let read = self.receiver.bytes_read();
        assert!(read >= self.read, "{read} bytes read, {} before", self.read);
        assert!(read <= u64::from(self.segments) * u64::from(MSS));
        self.read = read;
    }
}
