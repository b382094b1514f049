//! The sender: its components, and what they share. ACK processing is in `ack`, recovery in `recovery`, sending in `transmit`.

pub(super) mod ack;
mod acks;
mod chrono;
mod close;
mod ecn;
mod fast_path;
mod handshake;
mod idle;
mod info;
mod loss;
pub(super) mod output;
mod peer_window;
mod persist;
mod rate;
mod recovery;
mod rtt;
pub(super) mod scoreboard;
mod stream;
#[cfg(test)]
mod tests;
mod timer;

use self::acks::reordering::Reordering;
use self::chrono::Chrono;
use self::close::Close;
use self::ecn::accecn::Feedbacks;
use self::ecn::EcnState;
use self::handshake::Handshake;
pub use self::info::Info;
use self::loss::fack::Fack;
use self::loss::rack::Rack;
use self::output::pacing::Pacing;
use self::output::send_buffer::SendBuffer;
use self::output::skbs::Skbs;
use self::output::small_queue::SmallQueue;
use self::output::transmit::CwndUsage;
use self::output::tso::Tso;
use self::peer_window::PeerWindow;
use self::rate::RateSampler;
use self::recovery::loss_probe::LossProbe;
use self::recovery::prr::Prr;
use self::recovery::undo::Undo;
use self::recovery::Recovery;
use self::rtt::{RttEstimator, WindowedMin};
use self::scoreboard::Scoreboard;
pub(in crate::tcp::linux) use self::stream::Beside;
use self::stream::Stream;
pub(in crate::tcp::linux) use self::timer::Pending;
use self::timer::Timer;
use crate::cc::{AnyCc, Needs, View, Window, INFINITE_SSTHRESH};
use crate::packet::{Ecn, Way, HEADERS, NO_ATTACHMENT};
use crate::prefetch::prefetch;
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::Layout;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::options::LossDetection;
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::validate::Answers;
use crate::tcp::transport::SenderCounters;
use crate::time::Time;

/// Event sources of a sender: its timer, and that of pacing.
pub const SOURCES: usize = 2;

/// Progress of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Phase {
    Closed,
    SynSent,
    SynReceived,
    /// Both ends have called connect(), and the peer's SYN has come (TCP_SYN_RECV).
    Crossed,
    Established,
}

/// The way in which new segments are sent. One with notes also notes departures and deliveries, for pacing or for a congestion control that
/// needs rate samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Sending {
    /// All that the windows allow goes in one run, and only the scoreboard notes it.
    Runs,
    /// All that the windows allow goes in one run, with notes.
    NotedRuns,
    /// Something is decided between two segments: there is TSO, the host has a queue of its own, or the segments are of a stream.
    Steps,
    /// Something is decided between two segments, with notes: the sender is paced, too, or its congestion control needs rate samples.
    NotedSteps,
}

impl Sending {
    /// True if something is decided between two segments.
    #[inline]
    fn is_in_steps(self) -> bool {
        matches!(self, Self::Steps | Self::NotedSteps)
    }

    /// True if more than the scoreboard notes what is sent.
    #[inline]
    fn is_noted(self) -> bool {
        matches!(self, Self::NotedRuns | Self::NotedSteps)
    }

    /// The way with steps, and with notes if this way has them.
    fn in_steps(self) -> Self {
        if self.is_noted() {
            Self::NotedSteps
        } else {
            Self::Steps
        }
    }
}

/// The fast path of ACKs in state Open; see [`Sender::update_fast_path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum FastPath {
    /// No ACK may take it.
    Closed,
    /// ACKs without an ECN echo may take it, and congestion control gets one call for an ACK.
    OneCall,
    /// ACKs without an ECN echo may take it, and congestion control gets several calls for an ACK.
    SeveralCalls,
}

/// A sender. Wide because nearly every field is a component with private state, whose type says when it is called; those that every ACK
/// needs come first.
#[derive(Debug)]
pub struct Sender {
    pub(in crate::tcp::linux) fast_path: FastPath,
    pub(in crate::tcp::linux) phase: Phase,
    sending: Sending,
    /// Sequence numbers, counts and estimates: what congestion control sees.
    pub view: View,
    /// Window that congestion control sets.
    pub window: Window,
    /// Form that segments have in common, with the timestamps of now. A packet is put together from single fields where it is sent: fields that were
    /// written in pieces just before cannot be moved as a whole without waiting.
    pub(in crate::tcp::linux) form: Segment,
    pub(in crate::tcp::linux) timer: Timer,
    pub(in crate::tcp::linux) peer: PeerWindow,
    pub(in crate::tcp::linux) usage: CwndUsage,
    pub(in crate::tcp::linux) chrono: Chrono,
    pub(in crate::tcp::linux) rack: Rack,
    /// RTT estimate.
    pub rtt: RttEstimator,
    pub(in crate::tcp::linux) min_rtt: WindowedMin,
    pub(in crate::tcp::linux) board: Scoreboard,
    pub(in crate::tcp::linux) cc: AnyCc,
    /// Needs of congestion control.
    pub(in crate::tcp::linux) needs: Needs,
    /// Only for a control that needs its samples.
    sampler: Option<Box<RateSampler>>,
    pub(in crate::tcp::linux) buffer: SendBuffer,
    pub(in crate::tcp::linux) layout: Layout,
    /// True if both ends have agreed on SACK.
    pub(in crate::tcp::linux) sack: bool,
    /// True if both ends have agreed on timestamps. Without them those of all packets that arrive are 0.
    pub(in crate::tcp::linux) timestamps: bool,
    stream: Stream,
    /// Flags of the packet in hand that do not follow from its ACK ([`ack::flag`]).
    pub(in crate::tcp::linux) beside: u32,
    /// The short end of a write is not held back (`TCP_NODELAY`).
    nodelay: bool,
    pub(in crate::tcp::linux) tso: Tso,
    skbs: Skbs,
    pub(in crate::tcp::linux) small_queue: SmallQueue,
    pub(in crate::tcp::linux) pacing: Pacing,
    pub(in crate::tcp::linux) ecn: EcnState,
    /// AccECN feedback while this end offers or uses it, else `None`.
    accecn: Option<Box<Feedbacks>>,
    /// Bytes that the AccECN option takes of a SYN-ACK.
    option_bytes: u32,
    pub(in crate::tcp::linux) rec: Recovery,
    pub(in crate::tcp::linux) undo: Undo,
    pub(in crate::tcp::linux) prr: Prr,
    pub(in crate::tcp::linux) probe: LossProbe,
    answers: Answers,
    pub(in crate::tcp::linux) reordering: Reordering,
    pub(in crate::tcp::linux) fack: Fack,
    pub(in crate::tcp::linux) stack: Stack,
    pub(in crate::tcp::linux) clock: Clock,
    handshake: Handshake,
    pub(in crate::tcp::linux) close: Close,
    /// Counters.
    pub counters: SenderCounters,
}

impl Sender {
    /// A closed sender. `source` is the first of its [`SOURCES`].
    #[must_use]
    pub fn new(flow: u32, source: usize, spec: &TcpSpec, stack: Stack, cc: AnyCc, needs: Needs) -> Self {
        let is_paced = needs.pacing || spec.host.max_pacing_bps.is_some();
        let pacing = Pacing::new(source + 1, spec.host.max_pacing_bps.map(|bps| bps / 8));
        let sending = if is_paced || needs.rate_samples { Sending::NotedRuns } else { Sending::Runs };
        let ssthresh = spec.host.cached_ssthresh.unwrap_or(INFINITE_SSTHRESH);
        let limited = stack.cwnd_limited == crate::tcp::linux::stack::CwndLimited::AtMaximum;
        let clock = Clock::of(&stack);
        let layout = Layout::of(spec);
        let mss = layout.mss();
        let option = mss + spec.options().timestamp_bytes();
        Self {
            fast_path: FastPath::Closed,
            phase: Phase::Closed,
            sending: if spec.host.tso || is_paced { sending.in_steps() } else { sending },
            view: View { mss, is_paced, has_sack: spec.sack, ..View::new(stack.hz, stack.growth, limited) },
            window: Window { pacing_rate: pacing.max_rate(), ..Window::new(stack.initial_cwnd, ssthresh) },
            form: Segment {
                way: Way::new(flow),
                len: (HEADERS + mss) as u16,
                seq: 1,
                window: 0,
                tsval: 0,
                tsecr: 0,
                attachment: NO_ATTACHMENT,
                flags: spec.codepoint().flags(),
            },
            timer: Timer::new(source),
            peer: PeerWindow::new(mss),
            usage: CwndUsage::default(),
            chrono: Chrono::default(),
            rack: Rack::default(),
            rtt: RttEstimator::new(&stack, &clock),
            min_rtt: WindowedMin::new(stack.hz),
            board: Scoreboard::default(),
            cc,
            needs,
            sampler: needs.rate_samples.then(Box::default),
            buffer: SendBuffer::new(&spec.host, &stack, [mss, option], layout.end(), needs.send_windows)
                .ending_short(spec.transfer_bytes.is_some() && layout.payload(layout.end() - 1) < mss),
            layout,
            sack: spec.sack,
            timestamps: spec.timestamps,
            stream: Stream::default(),
            beside: 0,
            nodelay: spec.host.nodelay,
            tso: Tso::new(spec.host.tso, mss),
            skbs: Skbs::default(),
            small_queue: SmallQueue::new(spec.host.tso),
            pacing,
            ecn: EcnState::new(spec.codepoint(), spec.accecn.is_some()),
            option_bytes: spec.options().sender_option_bytes(),
            accecn: Feedbacks::of(spec, if needs.ecn { spec.codepoint() } else { Ecn::NotEct }),
            rec: Recovery::default(),
            undo: Undo::default(),
            prr: Prr::default(),
            probe: LossProbe::default(),
            answers: Answers::new(&stack),
            reordering: Reordering::new(stack.reordering, stack.max_reordering),
            fack: Fack::new(stack.loss_detection == LossDetection::Fack),
            handshake: Handshake::new(&stack, &clock),
            close: Close::new(spec.transfer_bytes.is_some(), stack.fin_beyond_cwnd, Answers::new(&stack)),
            stack,
            clock,
            counters: SenderCounters::default(),
        }
    }

    /// With a random stream of its own, see [`View::seed`].
    #[must_use]
    pub fn seeded(mut self, seed: [u64; 2]) -> Self {
        self.view.seed = seed;
        self
    }

    /// An ACK arrives soon, and the sender itself is loaded: loads ahead the segment that it acknowledges.
    pub fn prefetch_segment(&self) {
        prefetch(self.board.get(self.view.snd_una));
    }

    /// Advances the sender's clocks.
    #[inline]
    pub(in crate::tcp::linux) fn refresh(&mut self, now: Time) {
        self.view.mstamp_us = now / 1000;
        self.form.tsval = (self.view.mstamp_us / 1000) as u32;
        self.view.jiffies = if self.clock.ticks_are_ms() { self.form.tsval } else { self.clock.tick(now) as u32 };
    }

    /// The clocks show this time.
    pub(in crate::tcp::linux) fn has_looked(&self, now: Time) -> bool {
        self.view.mstamp_us == now / 1000
    }

    /// Time since `sent_us`, us. A segment that was sent before its departure time may be acknowledged before it: then it is 0
    /// (`tcp_stamp_us_delta`).
    #[inline]
    pub(in crate::tcp::linux) fn us_since(&self, sent_us: u64) -> u64 {
        self.view.mstamp_us.saturating_sub(sent_us)
    }

    /// Milliseconds since the timestamp that an ACK echoes, at least 1. None if it is that of a departure which is yet to come: no sample
    /// (`tcp_rtt_tsopt_us`).
    pub(in crate::tcp::linux) fn ms_since_echo(&self, tsecr: u32) -> Option<u32> {
        Some(self.ts_ms().checked_sub(tsecr)?.max(1))
    }

    /// Timestamp option value, ms.
    #[inline]
    pub(in crate::tcp::linux) fn ts_ms(&self) -> u32 {
        self.form.tsval
    }

    /// Codepoint of what is not first-time data: a control that needs ECN marks everything.
    #[inline]
    pub(in crate::tcp::linux) fn control_ecn(&self) -> Ecn {
        if self.needs.ecn || self.ecn.counts() {
            self.ecn.codepoint()
        } else {
            Ecn::NotEct
        }
    }

    /// A packet of this sender.
    #[inline]
    pub(in crate::tcp::linux) fn packet(&self, seq: u32, len: u32, flags: u16, ecn: Ecn) -> Segment {
        Segment { len: len as u16, seq: self.number(seq), flags: flags | ecn.flags() | self.ecn.ace(), ..self.form }
    }

    /// The flow is cut off: nothing more is sent. A connection that is closed at both ends goes on answering FINs.
    pub fn abort(&mut self) {
        if self.has_closed() {
            return;
        }
        self.phase = Phase::Closed;
        self.handshake.is_over = true;
        self.fast_path = FastPath::Closed;
        self.clear_timer();
    }

    /// True if the send buffer has taken all that the application has written.
    #[must_use]
    pub fn has_written_all(&self) -> bool {
        self.buffer.is_complete()
    }

    /// There is a new segment that the application has written.
    #[inline]
    pub(in crate::tcp::linux) fn has_data(&self) -> bool {
        self.view.snd_nxt < self.buffer.written
    }

    /// The PSH and FIN bits of segment `seq`, as far as it has them.
    #[inline]
    pub(in crate::tcp::linux) fn flags_of(&self, seq: u32) -> u16 {
        let pushed = if self.tso.enabled {
            self.skbs.is_pushed(seq)
        } else {
            self.buffer.is_pushed(seq) || self.layout.ends_first_write(seq)
        };
        (if pushed { flags::PSH } else { 0 }) | self.close.flag_of(seq)
    }

    /// Payload of a full segment, bytes.
    #[must_use]
    pub fn mss(&self) -> u32 {
        self.layout.mss()
    }

    /// Frame length of segment `seq`.
    #[inline]
    pub(in crate::tcp::linux) fn frame_len(&self, seq: u32) -> u32 {
        HEADERS + self.layout.payload(seq)
    }

    /// Retransmission timeout, ticks.
    pub(in crate::tcp::linux) fn rto_ticks(&self) -> u64 {
        self.rtt.rto_ticks(&self.clock)
    }

    /// Sets the rate at which a paced sender would send (200 % of the window per RTT well below ssthresh, 120 % above).
    #[inline]
    pub(in crate::tcp::linux) fn update_pacing_rate(&mut self) {
        // Only pacing, HyStart, the size of TSO segments and small queues depend on it.
        if self.sending.is_in_steps() || self.window.in_slow_start(&self.view) {
            self.compute_pacing_rate();
        }
    }

    #[inline(never)]
    pub(super) fn compute_pacing_rate(&mut self) {
        if self.view.srtt_us8 != 0 {
            self.window.pacing_rate = self.rate_of_window();
        }
    }

    /// The rate at which a paced sender would send; the RTT is known.
    pub(super) fn rate_of_window(&self) -> u64 {
        let ratio = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let window = u64::from(self.window.cwnd.max(self.view.packets_out));
        // The kernel's 64 bits wrap for windows beyond 700 million segments (tcp_update_pacing_rate: `rate *= max(cwnd, packets_out)`).
        let rate = (u64::from(self.mss_now()) * 80_000 * ratio).wrapping_mul(window) / u64::from(self.view.srtt_us8);
        rate.min(self.pacing.max_rate())
    }
}
