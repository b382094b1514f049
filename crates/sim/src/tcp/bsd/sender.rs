//! The sender: its state and the handshake (FreeBSD 9.3 sys/netinet/tcp_usrreq.c `tcp_connect`, tcp_subr.c `tcp_newtcpcb`). ACK
//! processing is in `input`, sending in `output`.
//!
//! Leaves out: closing, urgent data, segmentation offload, connections without timestamps or SACK.

use super::clock::Clock;
use super::ecn::Sending;
use super::modules::Module;
use super::newreno::{NewReno, INFINITE_SSTHRESH};
use super::rtt::RttEstimator;
use super::sack::Holes;
use super::sockbuf::{SendBuffer, Size};
use super::stack::Stack;
use crate::catalogue::Tell;
use crate::cc::CaState;
use crate::outbox::{End, Outbox};
use crate::packet::{Way, ACK_FRAME, HEADERS, MSS, NO_ATTACHMENT, SYN_FRAME};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::Layout;
use crate::tcp::common::lazy_timer::{LazyTimer, Ticks};
use crate::tcp::transport::{SenderCounters, SenderSample};
use crate::time::{Time, MS};

/// Progress of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Closed,
    SynSent,
    Established,
}

/// The purpose of the sender's callout. BSD never has both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Retransmit,
    Persist,
}

/// Values that a timeout gives back if it proves wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Previous {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub fast_recovery: bool,
    pub cong_recovery: bool,
    pub recover: u32,
    /// Tick until which an ACK shows that it was wrong.
    pub until: u64,
}

/// A sender. Wide because it has the variables of FreeBSD's `tcpcb` under their names, so that it can be read beside the original.
#[derive(Debug)]
pub struct Sender {
    flow: u32,
    pub(super) phase: Phase,
    pub(super) clock: Clock,
    pub(super) limited_transmit: bool,
    /// First unacknowledged segment, next to send, and first never sent.
    pub(super) snd_una: u32,
    pub(super) snd_nxt: u32,
    pub(super) snd_max: u32,
    /// End of what was out when the present recovery began.
    pub(super) snd_recover: u32,
    /// First new segment of the present recovery.
    pub(super) sack_newdata: u32,
    /// Receiver's window, bytes, and the ACK that it came with.
    pub(super) snd_wnd: u64,
    pub(super) snd_wl2: u32,
    pub(super) window: NewReno,
    pub(super) module: Module,
    pub(super) ecn: Sending,
    pub(super) dupacks: u32,
    /// New segments sent for the first two duplicate ACKs.
    pub(super) limited_sent: u32,
    pub(super) holes: Holes,
    pub(super) rtt: RttEstimator,
    pub(super) timer: LazyTimer,
    pub(super) purpose: Purpose,
    pub(super) previous: Option<Previous>,
    /// A packet must go, be it an empty one.
    pub(super) ack_now: bool,
    /// Tick of the last arrival.
    pub(super) rcv_tick: u64,
    pub(super) buffer: SendBuffer,
    pub(super) syn_lost: bool,
    ts_recent: u32,
    /// Segments that the receiver is known to have.
    delivered: u32,
    /// Segments whose delivery an ACK with an ECN echo told.
    delivered_ce: u32,
    pub(super) layout: Layout,
    /// Counters.
    pub counters: SenderCounters,
}

impl Sender {
    /// A closed sender whose timer is event source `source`.
    #[must_use]
    pub fn new(flow: u32, source: usize, spec: &TcpSpec, stack: &Stack) -> Self {
        let scale = stack.window_scale();
        let size = Size::new(stack, spec.host.sndbuf, stack.sendspace, stack.sendbuf_inc, stack.sendbuf_max);
        let layout = Layout::of(spec);
        Self {
            flow,
            phase: Phase::Closed,
            clock: Clock::new(stack.hz),
            limited_transmit: stack.rfc3042,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            snd_recover: 0,
            sack_newdata: 0,
            snd_wnd: 0,
            snd_wl2: 0,
            window: NewReno::new(stack, spec.host.cached_ssthresh, scale),
            module: Module::of(&spec.cc.kind, stack),
            ecn: Sending::new(spec.ecn),
            dupacks: 0,
            limited_sent: 0,
            holes: Holes::new(stack.sack_maxholes),
            rtt: RttEstimator::new(stack),
            timer: LazyTimer::new(source),
            purpose: Purpose::Retransmit,
            previous: None,
            ack_now: false,
            rcv_tick: 0,
            buffer: SendBuffer::new(size, layout.clone()),
            syn_lost: false,
            ts_recent: 0,
            delivered: 0,
            delivered_ce: 0,
            layout,
            counters: SenderCounters::default(),
        }
    }

    /// connect(): sends the SYN.
    pub fn connect(&mut self, out: &mut impl Outbox) {
        self.phase = Phase::SynSent;
        self.rcv_tick = self.clock.tick(out.now());
        self.start_module(out.now());
        self.send_syn(out);
    }

    pub(super) fn send_syn(&mut self, out: &mut impl Outbox) {
        let p = self.packet(0, SYN_FRAME, flags::SYN | self.ecn.offer(self.rtt.shift), out.now());
        self.counters.sent += 1;
        (self.snd_nxt, self.snd_max) = (1, 1);
        out.send(End::Sender, p);
        self.set_retransmit(out);
    }

    /// The SYN-ACK completes the handshake; data follows at once.
    pub(super) fn on_syn_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.phase = Phase::Established;
        self.snd_una = 1;
        // The window of a SYN is not scaled.
        self.snd_wnd = u64::from(p.window);
        self.snd_wl2 = 1;
        if self.syn_lost {
            self.window.start_small();
        }
        self.ecn.on_syn_ack(p);
        self.init_module();
        self.take_rtt(p, out.now());
        self.timer.clear();
        self.ack_now = true;
        self.output(out, false);
        self.write(out);
    }

    /// The application writes, if there is room.
    pub(super) fn write(&mut self, out: &mut impl Outbox) {
        if self.buffer.fill(self.snd_una) {
            self.output(out, false);
        }
    }

    /// The flow is cut off: nothing more is sent.
    pub fn abort(&mut self) {
        self.phase = Phase::Closed;
        self.timer.clear();
    }

    /// A packet of this sender.
    pub(super) fn packet(&self, seq: u32, len: u32, flags: u16, now: Time) -> Segment {
        Segment {
            way: Way::new(self.flow),
            len: len as u16,
            seq,
            window: 0,
            tsval: (now / MS) as u32,
            tsecr: self.ts_recent,
            attachment: NO_ATTACHMENT,
            flags,
        }
    }

    /// A packet without data.
    pub(super) fn empty_packet(&self, now: Time) -> Segment {
        self.packet(self.snd_max, ACK_FRAME, flags::HANDSHAKE, now)
    }

    /// A packet with segment `seq`.
    pub(super) fn data_packet(&self, seq: u32, now: Time) -> Segment {
        let again = if seq < self.snd_max { flags::RETRANSMISSION } else { 0 };
        self.packet(seq, HEADERS + self.layout.payload(seq), again, now)
    }

    /// Notes the timestamps of an ACK.
    pub(super) fn take_rtt(&mut self, p: &Segment, now: Time) {
        self.ts_recent = p.tsval;
        self.rtt.sample(((now / MS) as u32).saturating_sub(p.tsecr));
    }

    /// Notes the timestamp of an ACK that gives no sample.
    pub(super) fn note_timestamp(&mut self, p: &Segment) {
        self.ts_recent = p.tsval;
    }

    /// Notes what the receiver has by now, with everything before `ack`, which `p` tells.
    pub(super) fn note_delivery(&mut self, ack: u32, p: &Segment) {
        let before = self.delivered;
        self.delivered = self.delivered.max(ack + self.holes.sacked(ack));
        if self.ecn.is_echo(p) {
            self.delivered_ce += self.delivered - before;
        }
    }

    /// True if what was sent before a timeout is being retransmitted.
    pub(super) fn going_back(&self) -> bool {
        self.snd_nxt != self.snd_max
    }

    /// Segments that count against the window.
    fn in_flight(&self) -> u32 {
        if self.window.fast_recovery && !self.holes.is_empty() {
            self.snd_nxt - self.holes.fack.min(self.snd_nxt) + self.holes.retransmitted
        } else {
            self.snd_nxt - self.snd_una
        }
    }

    fn state(&self) -> CaState {
        if self.going_back() {
            CaState::Loss
        } else if self.window.fast_recovery {
            CaState::Recovery
        } else if self.dupacks > 0 || !self.holes.is_empty() {
            CaState::Disorder
        } else {
            CaState::Open
        }
    }

    /// First segment that the receiver has not acknowledged.
    #[must_use]
    pub fn acked_until(&self) -> u32 {
        self.snd_una
    }

    /// Tells its state by the names of [`super::super::endpoint::STATE`]. It does not pace and expects no reordering.
    pub fn tell(&self, tell: &mut Tell) {
        tell("rto_ms", self.rtt.timeout_ms());
        if let Some(ms) = self.rtt.rttvar_ms() {
            tell("rttvar_ms", ms);
        }
        tell("sacked", f64::from(self.holes.sacked(self.snd_una)));
        tell("retrans_out", f64::from(self.holes.retransmitted));
        tell("dupacks", f64::from(self.dupacks));
        tell("bytes_acked", self.window.bytes_acked() as f64);
        self.tell_module(tell);
    }

    /// A sample of the sender.
    #[must_use]
    pub fn sample(&self) -> SenderSample {
        let segments = |bytes: u64| bytes as f64 / f64::from(MSS);
        SenderSample {
            cwnd: segments(self.window.cwnd),
            ssthresh: (self.window.ssthresh < INFINITE_SSTHRESH).then(|| segments(self.window.ssthresh)),
            srtt_ms: self.rtt.srtt_ms(),
            rtt_ms: self.rtt.low_ms.map(|_| f64::from(self.rtt.last_ms)),
            min_rtt_ms: self.rtt.low_ms.map(f64::from),
            in_flight: self.in_flight(),
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            state: self.state(),
        }
    }
}
