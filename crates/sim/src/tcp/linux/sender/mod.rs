//! The sender: its state, the handshake, and its one timer. ACK processing is in `ack`, recovery in `recovery`,
//! sending in `transmit`.

pub(super) mod ack;
mod fast_path;
mod recovery;
mod rtt;
mod sacktag;
pub(super) mod scoreboard;
mod send_buffer;
mod stream;
#[cfg(test)]
mod tests;
mod timeout;
mod transmit;
pub(super) mod tso;
mod undo;

use self::recovery::Recovery;
use self::rtt::{RttEstimator, WindowedMin};
use self::scoreboard::Scoreboard;
use self::send_buffer::{SendBuffer, Windows};
use self::tso::Tso;
use crate::cc::{AnyCc, CongestionControl, Needs, View, Window, INFINITE_SSTHRESH};
use crate::outbox::{End, Outbox};
use crate::packet::{flags, Ecn, Packet, Way, ACK_FRAME, FULL_FRAME, MSS, NO_ATTACHMENT, SYN_FRAME};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::Layout;
use crate::tcp::common::lazy_timer::{LazyTimer, Ticks};
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::loss::fack::Fack;
use crate::tcp::linux::loss::rack::Rack;
use crate::tcp::linux::options::LossDetection;
use crate::tcp::linux::stack::Stack;
use crate::time::Time;

/// RFC 6298 initial timeout, ms.
const INITIAL_RTO_MS: u64 = 1000;
/// Largest retransmission timeout, ms.
const RTO_MAX_MS: u64 = 120_000;
/// So many doublings of a tick exceed the largest timeout.
const MAX_BACKOFF: u32 = 17;

/// What the sender's timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Pending {
    Nothing,
    Retransmit,
    LossProbe,
    Reorder,
    /// Early retransmit, unless an ACK explains the gap.
    EarlyRetransmit,
    /// Try again after a local drop left nothing in flight.
    Resend,
}

/// Progress of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Phase {
    Closed,
    SynSent,
    Established,
}

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Packets sent, all kinds.
    pub sent: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// ACKs that arrived.
    pub acks_arrived: u64,
    /// Retransmission timeouts.
    pub rto_timeouts: u64,
    /// Tail loss probes.
    pub tlp_probes: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Reductions of the window by a congestion signal.
    pub cwnd_reductions: u64,
}

/// A sender.
#[derive(Debug)]
pub struct Sender {
    pub(in crate::tcp::linux) phase: Phase,
    /// Sequence numbers, counts and estimates: what congestion control sees.
    pub view: View,
    /// What congestion control sets.
    pub window: Window,
    pub(in crate::tcp::linux) cc: AnyCc,
    pub(in crate::tcp::linux) stack: Stack,
    pub(in crate::tcp::linux) clock: Clock,
    pub(in crate::tcp::linux) board: Scoreboard,
    /// RTT estimate.
    pub rtt: RttEstimator,
    pub(in crate::tcp::linux) min_rtt: WindowedMin,
    pub(in crate::tcp::linux) rec: Recovery,
    pub(in crate::tcp::linux) rack: Rack,
    pub(in crate::tcp::linux) fack: Fack,
    /// What the blocks of an ACK add; kept for its allocation.
    pub(in crate::tcp::linux) holes: Vec<(u32, u32)>,
    pub(in crate::tcp::linux) tso: Tso,
    /// First segment beyond the receiver's window.
    pub(in crate::tcp::linux) window_end: u32,
    pub(in crate::tcp::linux) max_window_segs: u32,
    /// The window last advertised, bytes and whole segments.
    advertised: u32,
    advertised_segs: u32,
    pub(in crate::tcp::linux) cwnd_usage_seq: u32,
    /// Retransmission timeout before backoff, us, and how often it has doubled.
    pub(in crate::tcp::linux) rto_us: u64,
    pub(in crate::tcp::linux) backoff: u32,
    /// The one timer, and what it is set for.
    pub(in crate::tcp::linux) pending: Pending,
    pub(in crate::tcp::linux) timer: LazyTimer,
    /// Largest retransmission timeout, ticks.
    pub(in crate::tcp::linux) rto_max: u64,
    pub(in crate::tcp::linux) ecn: bool,
    /// What congestion control needs.
    pub(in crate::tcp::linux) needs: Needs,
    pub(in crate::tcp::linux) queue_cwr: bool,
    /// What segments have in common, with the timestamps of now. A packet is put together from single fields where it is sent: what was
    /// written in pieces just before cannot be moved as a whole without waiting.
    pub(in crate::tcp::linux) form: Packet,
    /// ACKs without an ECN echo may take the fast path; see [`Self::update_fast_path`].
    pub(in crate::tcp::linux) fast_path_open: bool,
    pub(in crate::tcp::linux) buffer: SendBuffer,
    pub(in crate::tcp::linux) layout: Layout,
    syn_sent_us: u64,
    syn_retransmits: u32,
    /// Counters.
    pub counters: Counters,
}

impl Sender {
    /// A closed sender.
    #[must_use]
    pub fn new(flow: u32, source: usize, spec: &TcpSpec, stack: Stack, cc: AnyCc, needs: Needs) -> Self {
        let ssthresh = spec.host.cached_ssthresh.unwrap_or(INFINITE_SSTHRESH);
        let limited = stack.cwnd_limited == crate::tcp::linux::stack::CwndLimited::AtMaximum;
        let clock = Clock::of(&stack);
        let rtt_unit_us = if stack.rtt_in_ticks { clock.to_us(1) as u32 } else { 1 };
        let layout = Layout::of(spec);
        Self {
            phase: Phase::Closed,
            view: View::new(stack.hz, stack.growth, limited),
            window: Window::new(stack.initial_cwnd, ssthresh),
            cc,
            clock,
            board: Scoreboard::default(),
            rtt: RttEstimator::new(stack.rto_min_ms * 1000, rtt_unit_us),
            min_rtt: WindowedMin::new(stack.hz),
            rec: Recovery::new(&stack),
            rack: Rack::default(),
            fack: Fack::new(stack.loss_detection == LossDetection::Fack),
            holes: Vec::new(),
            tso: Tso::new(spec.host.tso),
            window_end: 0,
            max_window_segs: 0,
            advertised: 0,
            advertised_segs: 0,
            cwnd_usage_seq: 0,
            rto_us: INITIAL_RTO_MS * 1000,
            backoff: 0,
            pending: Pending::Nothing,
            timer: LazyTimer::new(source),
            rto_max: clock.from_ms(RTO_MAX_MS),
            ecn: spec.ecn,
            needs,
            queue_cwr: false,
            form: Packet {
                way: Way::new(flow),
                len: FULL_FRAME as u16,
                seq: 1,
                window: 0,
                tsval: 0,
                tsecr: 0,
                attachment: NO_ATTACHMENT,
                flags: if spec.ecn { Ecn::Ect0 } else { Ecn::NotEct }.flags(),
            },
            fast_path_open: false,
            buffer: SendBuffer::new(&spec.host, &stack, layout.end()),
            layout,
            syn_sent_us: 0,
            syn_retransmits: 0,
            stack,
            counters: Counters::default(),
        }
    }

    /// Advances the sender's clocks.
    #[inline]
    pub(in crate::tcp::linux) fn refresh(&mut self, now: Time) {
        self.view.mstamp_us = now / 1000;
        self.form.tsval = (self.view.mstamp_us / 1000) as u32;
        self.view.jiffies = if self.clock.ticks_are_ms() { self.form.tsval } else { self.clock.tick(now) as u32 };
    }

    /// Timestamp option value, ms.
    #[inline]
    pub(in crate::tcp::linux) fn ts_ms(&self) -> u32 {
        self.form.tsval
    }

    /// connect(): sends the SYN.
    pub fn connect(&mut self, out: &mut impl Outbox) {
        self.refresh(out.now());
        self.phase = Phase::SynSent;
        self.send_syn(out);
    }

    fn send_syn(&mut self, out: &mut impl Outbox) {
        if self.syn_retransmits == 0 {
            self.syn_sent_us = self.view.mstamp_us;
        }
        let p = self.packet(0, SYN_FRAME, flags::SYN, self.control_ecn());
        self.counters.sent += 1;
        out.send(End::Sender, p);
        self.set_timer(out, Pending::Retransmit, self.rto_jiffies());
    }

    /// Codepoint of what is not first-time data: a control that needs ECN marks everything.
    #[inline]
    pub(in crate::tcp::linux) fn control_ecn(&self) -> Ecn {
        if self.ecn && self.needs.ecn {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    /// A packet of this sender.
    #[inline]
    pub(in crate::tcp::linux) fn packet(&self, seq: u32, len: u32, flags: u16, ecn: Ecn) -> Packet {
        Packet { len: len as u16, seq, flags: flags | ecn.flags(), ..self.form }
    }

    /// The SYN-ACK completes the handshake; data follows at once.
    pub(in crate::tcp::linux) fn on_syn_ack(&mut self, p: &Packet, out: &mut impl Outbox) {
        if self.phase != Phase::SynSent {
            return;
        }
        let rtt_us = self.view.mstamp_us - self.syn_sent_us;
        let once = self.syn_retransmits == 0;
        self.establish(p, once.then_some(rtt_us.max(1) as u32));
        let ack = self.packet(1, ACK_FRAME, flags::HANDSHAKE, self.control_ecn());
        self.counters.sent += 1;
        out.send(End::Sender, ack);
        self.buffer.open(&self.view, self.window.cwnd, self.windows(), self.rec.reordering);
        self.write(out, false);
    }

    /// The connection is established by the packet `p`; `rtt_us`: since ours that it answers, if that was sent once.
    fn establish(&mut self, p: &Packet, rtt_us: Option<u32>) {
        self.phase = Phase::Established;
        self.clear_timer();
        self.form.tsecr = p.tsval;
        self.view.snd_una = 1;
        self.view.snd_nxt = 1;
        self.view.delivered = 1;
        self.board.highest_sacked = 1;
        self.cwnd_usage_seq = 1;
        self.update_window(p, 1);
        if let Some(rtt_us) = rtt_us {
            self.take_rtt(rtt_us, rtt_us, false);
        }
        if self.syn_retransmits > 1 {
            self.window.cwnd = 1;
        }
        self.cc.init(&self.view, &mut self.window);
        self.update_pacing_rate();
    }

    /// The flow is cut off: nothing more is sent.
    pub fn abort(&mut self) {
        self.phase = Phase::Closed;
        self.fast_path_open = false;
        self.clear_timer();
    }

    /// There is a new segment that the application has written.
    #[inline]
    pub(in crate::tcp::linux) fn has_data(&self) -> bool {
        self.view.snd_nxt < self.buffer.written
    }

    /// What the receiver has advertised.
    #[inline]
    pub(in crate::tcp::linux) fn windows(&self) -> Windows {
        Windows { largest: self.max_window_segs, end: self.window_end }
    }

    /// The PSH bit of segment `seq`, if it has it.
    #[inline]
    pub(in crate::tcp::linux) fn push_flag(&self, seq: u32) -> u16 {
        if self.buffer.is_pushed(seq) || self.layout.ends_first_write(seq) {
            flags::PSH
        } else {
            0
        }
    }

    /// Frame length of segment `seq`.
    #[inline]
    pub(in crate::tcp::linux) fn frame_len(&self, seq: u32) -> u32 {
        crate::packet::HEADERS + self.layout.payload(seq)
    }

    /// Notes the advertised window of an ACK for `ack`; true if the window grew.
    pub(in crate::tcp::linux) fn update_window(&mut self, p: &Packet, ack: u32) -> bool {
        if p.window != self.advertised {
            self.advertised = p.window;
            self.advertised_segs = p.window / MSS;
            self.max_window_segs = self.max_window_segs.max(self.advertised_segs);
        }
        let end = ack + self.advertised_segs;
        let grew = end > self.window_end;
        self.window_end = end;
        grew
    }

    /// Retransmission timeout, ticks.
    pub(in crate::tcp::linux) fn rto_jiffies(&self) -> u64 {
        let rto = self.clock.from_us(self.rto_us);
        if self.backoff == 0 {
            rto
        } else {
            (rto << self.backoff).min(self.rto_max)
        }
    }

    /// Doubles the retransmission timeout.
    pub(in crate::tcp::linux) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// Sets the timer `after` ticks from now.
    #[inline]
    pub(in crate::tcp::linux) fn set_timer(&mut self, out: &mut impl Outbox, what: Pending, after: u64) {
        self.pending = what;
        let now = u64::from(self.view.jiffies);
        self.timer.set(&self.clock, now, now + after.min(self.rto_max), out);
    }

    /// Disarms the timer.
    #[inline]
    pub(in crate::tcp::linux) fn clear_timer(&mut self) {
        self.pending = Pending::Nothing;
        self.timer.clear();
    }

    /// The timer's event came.
    pub fn on_timer(&mut self, out: &mut impl Outbox) {
        if !self.timer.expired(&self.clock, out) {
            return;
        }
        self.refresh(out.now());
        match (self.phase, self.pending) {
            (Phase::Closed, _) | (_, Pending::Nothing) => {}
            (Phase::SynSent, _) => {
                self.counters.rto_timeouts += 1;
                self.syn_retransmits += 1;
                if self.syn_retransmits > self.stack.syn_linear_timeouts {
                    self.back_off();
                }
                self.send_syn(out);
            }
            (_, Pending::Reorder) => self.on_reorder_timeout(out),
            (_, Pending::EarlyRetransmit) => self.resume_early_retransmit(out),
            (_, Pending::LossProbe) => self.send_loss_probe(out),
            (_, Pending::Retransmit) => self.on_retransmit_timeout(out),
            (_, Pending::Resend) => {
                self.pending = Pending::Nothing;
                self.write(out, false);
            }
        }
        self.update_fast_path();
    }

    /// Sets the rate at which a paced sender would send (200 % of the window per RTT well below ssthresh, 120 % above).
    #[inline]
    pub(in crate::tcp::linux) fn update_pacing_rate(&mut self) {
        // Only HyStart and the size of TSO segments depend on it.
        if self.tso.enabled || self.window.in_slow_start(&self.view) {
            self.compute_pacing_rate();
        }
    }

    #[inline(never)]
    fn compute_pacing_rate(&mut self) {
        if self.view.srtt_us8 == 0 {
            return;
        }
        let ratio = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let window = u64::from(self.window.cwnd.max(self.view.packets_out));
        self.window.pacing_rate = u64::from(MSS) * 80_000 * ratio * window / u64::from(self.view.srtt_us8);
    }
}
