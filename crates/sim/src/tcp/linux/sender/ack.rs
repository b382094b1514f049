//! ACK processing: what an ACK says, and what follows from that for window and recovery (Linux 6.12 net/ipv4/tcp_input.c, tcp_ack and below). What it
//! acknowledges is removed in `removal`.
//!
//! Leaves out: challenge ACKs, urgent data.

use std::cmp::Ordering;

use super::{FastPath, Phase, Sender};
use crate::attachment::{Attachment, Blocks};
use crate::cc::{CaState, CongestionControl, RateSample};
use crate::outbox::{End, Outbox};
use crate::segment::{flags, Segment};
use crate::tcp::linux::options::LossDetection;
use crate::tcp::linux::validate;
use crate::time::Time;

/// Facts found about an ACK (Linux's FLAG_*).
pub(in crate::tcp::linux) mod flag {
    pub const WIN_UPDATE: u32 = 1;
    pub const DATA_ACKED: u32 = 2;
    pub const RETRANS_ACKED: u32 = 4;
    pub const DATA_SACKED: u32 = 8;
    pub const ECE: u32 = 16;
    pub const LOST_RETRANS: u32 = 32;
    pub const ORIG_SACK_ACKED: u32 = 64;
    pub const UNA_ADVANCED: u32 = 128;
    pub const DSACKING: u32 = 256;
    pub const SET_XMIT_TIMER: u32 = 512;
    pub const RENEGING: u32 = 1024;
    pub const DSACK_TLP: u32 = 2048;
    pub const MAYBE_DELAYED: u32 = 4096;
    /// A retransmission of another segment than the first was acknowledged.
    pub const NONHEAD_RETRANS_ACKED: u32 = 8192;
    /// Something that was sent since the episode began is SACKed.
    pub const BEYOND_EPISODE: u32 = 16384;
    /// The packet brings data.
    pub const DATA: u32 = 32768;
    /// Not a duplicate ACK.
    pub const NOT_DUP: u32 = DATA | WIN_UPDATE | DATA_ACKED;
    /// Not stuck.
    pub const FORWARD_PROGRESS: u32 = DATA_ACKED | DATA_SACKED;
    /// Wakes the state machine.
    pub const ALERT: u32 = DATA_SACKED | ECE | DSACKING;
}

/// Segments to send once the window is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Rexmit {
    None,
    Lost,
    /// New data, to tell a spurious timeout from a loss (F-RTO).
    New,
}

/// The ACK in hand.
#[derive(Debug)]
pub(in crate::tcp::linux) struct AckState {
    pub flags: u32,
    pub prior_una: u32,
    pub tsecr: u32,
    pub duplicate: bool,
    pub rexmit: Rexmit,
    /// Every SACKed segment was sent before the timeout in question and was never retransmitted (F-RTO without RACK).
    pub only_orig_sacked: bool,
    /// Earliest and latest transmission of the never-retransmitted segments that were SACKed, us.
    pub first_sacked_us: Option<u64>,
    pub last_sacked_us: u64,
    /// Lowest segment that shows reordering.
    pub reord: u32,
    pub sack_delivered: u32,
    /// Sample for congestion control; filled on the way.
    pub sample: RateSample,
    /// Delivered count when the latest-sent of the delivered segments was sent, and its time.
    prior_delivered: Option<(u64, u32, u32)>,
}

impl AckState {
    pub fn new(prior_una: u32, tsecr: u32, snd_nxt: u32) -> Self {
        Self {
            flags: 0,
            prior_una,
            tsecr,
            duplicate: false,
            rexmit: Rexmit::None,
            only_orig_sacked: false,
            first_sacked_us: None,
            last_sacked_us: 0,
            reord: snd_nxt,
            sack_delivered: 0,
            sample: RateSample { rtt_us: -1, ..RateSample::default() },
            prior_delivered: None,
        }
    }

    /// Notes what the ACK `p` says by itself, before anything is removed.
    pub fn note_ack(&mut self, p: &Segment, ece: bool) {
        self.sample.acked = p.seq - self.prior_una;
        self.sample.window_update = self.flags & flag::WIN_UPDATE != 0;
        (self.sample.ece, self.sample.esce) = (ece, p.has(flags::ESCE));
    }

    /// Notes of the ACK `p` what only few controls [read](crate::cc::Needs::whole_acks). `news`: it has SACK blocks or an ECN echo, or offers
    /// another window.
    #[inline(never)]
    pub fn note_whole_ack(&mut self, p: &Segment, news: bool) {
        self.sample.slow_path = p.seq == self.prior_una || news;
        (self.sample.tsval, self.sample.tsecr) = (p.tsval, p.tsecr);
    }

    /// Notes a delivered segment for the rate sample.
    #[inline]
    pub fn note_delivery(&mut self, sent_us: u64, seq: u32, delivered: u32) {
        if self.prior_delivered.is_none_or(|(t, s, _)| (sent_us, seq) > (t, s)) {
            self.prior_delivered = Some((sent_us, seq, delivered));
        }
    }
}

impl Sender {
    /// An ACK arrives.
    pub fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.counters.acks_arrived += 1;
        self.refresh(out.now());
        if self.departs_before_ack(out.now()) || !self.takes_fast_path(p) {
            self.on_ack_in_full(p, out);
        } else if self.fast_path != FastPath::Closed {
            self.on_fast_ack(p, true, out);
        } else {
            self.on_fast_ack_in_cwr(p, out);
        }
    }

    /// A packet that does not [take the fast path](Self::takes_fast_path). With losses nearly every ACK comes here. So what all of them run through is
    /// inlined, down to the blocks and the look for losses, and what is rare is not.
    #[inline(never)]
    fn on_ack_in_full(&mut self, p: &Segment, out: &mut impl Outbox) {
        if self.departs_before_ack(out.now()) {
            self.on_departure_timer(out);
        }
        if p.has(flags::RST) || (self.has_heard_fin() && self.is_done_with(p, out)) {
            // A receiver that has closed resets what it answers to: that was sent before all was acknowledged.
            return;
        }
        if self.is_late(p) {
            self.answer_late(p, out);
        } else if self.process_packet(p, out) {
            self.send_allowed(out);
            if p.has(flags::FIN) {
                self.answer_fin(out);
            }
        }
        self.update_fast_path();
    }

    /// The timestamp of an ACK is too old: others have overtaken it. What it says is not heard (`tcp_paws_discard`).
    fn is_late(&self, p: &Segment) -> bool {
        validate::is_old(p.tsval, self.form.tsecr)
            && self.phase == Phase::Established
            && !p.has(flags::SYN)
            && !self.is_disordered(p, self.form.tsecr, Ordering::Equal)
    }

    /// An ACK older than `echoed` is a duplicate without a FIN that changes nothing, and is not much older (`tcp_disordered_ack`). `number`: how its own
    /// number compares with that of the packet that changed the window last: what is newer may change it, and what is older may not.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux) fn is_disordered(&self, p: &Segment, echoed: u32, number: Ordering) -> bool {
        let changes_window = match number {
            Ordering::Less => false,
            Ordering::Equal => p.window > self.peer.bytes() || p.window == 0,
            Ordering::Greater => true,
        };
        let replay_ms = validate::replay_ms(self.clock.to_us(self.rto_ticks()));
        p.seq == self.view.snd_una && !p.has(flags::FIN) && !changes_window && u64::from(echoed - p.tsval) <= replay_ms
    }

    /// Answers an ACK that was not heard, not too often, or a FIN (`tcp_oow_rate_limited`).
    #[cold]
    #[inline(never)]
    pub(super) fn answer_late(&mut self, p: &Segment, out: &mut impl Outbox) {
        out.take_attachment(p.attachment);
        if p.has(flags::FIN) || self.answers.is_due(out.now()) {
            self.counters.sent += 1;
            let answer = self.bare_packet(out.now(), self.view.snd_nxt, flags::HANDSHAKE);
            out.send(End::Sender, answer);
        }
    }

    /// Sends what the windows allow after an ACK, and what the application writes then; returns how many segments.
    #[inline(always)]
    pub(in crate::tcp::linux) fn send_allowed(&mut self, out: &mut impl Outbox) -> u32 {
        let (mut sent, mut window_full) = (0, false);
        if !self.only_waits(out.now()) {
            let allowed = self.window.cwnd.saturating_sub(self.view.in_flight());
            sent = self.write(out, false);
            // The first of several packets is on its way to the device, the others wait for it, when the buffer is looked at.
            window_full = if self.small_queue.is_on() || self.view.is_paced || self.tso.enabled {
                self.view.in_flight() >= self.window.cwnd
            } else {
                allowed <= 1 && sent == allowed
            };
        }
        sent + self.wake_application(window_full, out)
    }

    /// Does the work of [`Self::send_allowed`] on the fast path where not everything goes in one run.
    #[inline(never)]
    pub(super) fn send_allowed_in_steps(&mut self, out: &mut impl Outbox) -> u32 {
        self.send_allowed(out)
    }

    /// Lets the application write if it waited for room and there is enough; returns how many segments went.
    #[inline(always)]
    pub(in crate::tcp::linux) fn wake_application(&mut self, window_full: bool, out: &mut impl Outbox) -> u32 {
        if self.layout.is_stream() {
            self.buffer.note_payload(self.layout.span(self.view.snd_una, self.buffer.written));
        }
        if self.tso.enabled {
            self.let_device_take(out);
            if self.buffer.waits_for_room() {
                let charged = self.charged_for_skbs();
                self.buffer.note_charged(charged);
            }
        }
        if self.buffer.wakes(&self.view, self.window.cwnd, window_full, self.reordering.degree()) {
            self.let_application_write(out)
        } else {
            0
        }
    }

    /// [`Self::wake_application`] on the fast path, where it is seldom due.
    #[inline(never)]
    pub(super) fn wake_application_separately(&mut self, window_full: bool, out: &mut impl Outbox) -> u32 {
        self.wake_application(window_full, out)
    }

    /// There is room: the application writes, when all packets of this time have been dealt with.
    #[inline(never)]
    fn let_application_write(&mut self, out: &mut impl Outbox) -> u32 {
        self.chrono_has_room();
        if out.is_last_now() {
            return self.fill_and_write(out);
        }
        out.act_last(self.form.flow(), End::Sender);
        0
    }

    /// All packets of this time have been dealt with: the application writes if it waited for that.
    pub fn on_application(&mut self, out: &mut impl Outbox) {
        if self.buffer.is_awake() && self.phase == Phase::Established {
            self.refresh(out.now());
            self.in_process(|this| this.fill_and_write(out));
            self.update_fast_path();
        }
    }

    fn fill_and_write(&mut self, out: &mut impl Outbox) -> u32 {
        self.note_write();
        let sent = if self.layout.is_stream() {
            self.take_written(out)
        } else if self.tso.enabled {
            0
        } else {
            self.fill_buffer(out.now());
            0
        };
        sent + self.write_refilled(out)
    }

    /// The application of a transfer writes what there is room for.
    pub(super) fn fill_buffer(&mut self, now: Time) {
        let allowed = self.window.cwnd.saturating_sub(self.view.in_flight()).min(self.leave_at_once(now));
        self.buffer.fill(&self.view, allowed, &self.peer);
    }

    /// Takes in a packet of the receiver; true if it may let something be sent.
    pub(super) fn process_packet(&mut self, p: &Segment, out: &mut impl Outbox) -> bool {
        // Copied whole: what is copied in pieces cannot be read as a whole without waiting.
        let attachment = out.take_attachment(p.attachment);
        if p.has(flags::SYN) {
            self.on_handshake(p, out);
            return false;
        }
        if self.phase != Phase::Established {
            if self.phase == Phase::SynReceived && self.hear_request(p, out) {
                self.on_accept(p, out);
            }
            return false;
        }
        self.note_codepoint(p);
        // An ACK that has overtaken the other end's FIN begins behind what this end has asked for (`tcp_replace_ts_recent`).
        if !p.has(flags::CLOSED) || self.has_heard_fin() {
            self.form.tsecr = self.form.tsecr.max(p.tsval);
        }
        match self.stack.loss_detection {
            LossDetection::Rack => self.process_ack(p, &attachment, out),
            LossDetection::Fack | LossDetection::Sack => self.process_ack_by_count(p, attachment.blocks(), out),
        }
        true
    }

    #[inline(always)]
    fn process_ack(&mut self, p: &Segment, attachment: &Attachment, out: &mut impl Outbox) {
        let (ack, blocks) = (p.seq, attachment.blocks());
        let prior_una = self.view.snd_una;
        let mut a = AckState::new(prior_una, p.tsecr, self.view.snd_nxt);
        a.sample.prior_in_flight = self.view.in_flight();
        // The latest block comes first.
        self.begin_sample(blocks.ranges[0].1.max(ack));
        if ack < prior_una {
            // Old, but its SACK blocks may be news.
            if blocks.count > 0 {
                self.process_old_blocks(ack, blocks, &mut a, out);
            }
            return;
        }
        let prior_packets = self.view.packets_out;
        let (prior_delivered, prior_lost) = (self.view.delivered, self.view.lost);
        let prior_sacked_seq = self.highest_sacked_seq();
        let ece = p.has(flags::ECE) && self.ecn.is_echoed();
        a.flags |= self.beside;
        if ack > prior_una {
            a.flags |= flag::UNA_ADVANCED | flag::WIN_UPDATE;
            self.rec.note_progress();
        }
        if self.needs.whole_acks {
            a.note_whole_ack(p, ece || blocks.count > 0 || p.window != self.peer.bytes());
        }
        let changes_window = p.window != self.peer.bytes();
        if self.update_peer_window(p.window, ack) {
            a.flags |= flag::WIN_UPDATE;
        }
        self.view.snd_una = ack;
        if ece {
            a.flags |= flag::ECE;
        }
        if blocks.count > 0 {
            self.tag_sacked(ack, blocks, &mut a);
            self.count_delivered(a.sack_delivered, ece);
        }
        a.note_ack(p, ece);
        if self.stack.ack_event_first {
            self.cc.on_ack(&self.view, &mut self.window, &a.sample);
        }
        if prior_packets == 0 {
            if self.accecn.is_some() {
                self.process_accurate(p, attachment.ecn_bytes(), changes_window, 0, &mut a);
            }
            return self.process_ack_of_nothing(ack, &mut a, out);
        }
        self.remove_acked(&mut a, prior_sacked_seq, ece);
        if !self.rack.is_narrow() {
            self.rack_update_window(a.prior_delivered.map_or(0, |(_, _, d)| d));
        }
        if self.accecn.is_some() {
            let news = changes_window || blocks.count > 0;
            self.process_accurate(p, attachment.ecn_bytes(), news, self.view.delivered - prior_delivered, &mut a);
        }
        if !self.stack.ack_event_first {
            self.cc.on_ack(&self.view, &mut self.window, &a.sample);
        }
        self.process_tlp_ack(ack, a.flags);
        if a.flags & flag::NOT_DUP == 0 || a.flags & flag::ALERT != 0 || self.view.state != CaState::Open {
            a.duplicate = a.flags & (flag::UNA_ADVANCED | flag::NOT_DUP | flag::DSACKING) == 0;
            self.on_dubious_ack(&mut a, out);
        }
        if a.flags & flag::SET_XMIT_TIMER != 0 {
            self.set_xmit_timer(out);
        }
        a.sample.delivered = self.view.delivered - prior_delivered;
        a.sample.losses = self.view.lost - prior_lost;
        if self.sampler.is_some() {
            self.sample_rate(&mut a.sample, a.flags & flag::MAYBE_DELAYED != 0);
        }
        self.steer_window(&a);
        self.send_recovery(a.rexmit, out);
    }

    /// An ACK that others have overtaken tells by its blocks alone.
    #[cold]
    #[inline(never)]
    fn process_old_blocks(&mut self, ack: u32, blocks: &Blocks, a: &mut AckState, out: &mut impl Outbox) {
        self.tag_sacked(ack, blocks, a);
        self.on_dubious_ack(a, out);
        self.send_recovery(a.rexmit, out);
    }

    /// Nothing was outstanding when the ACK came.
    #[cold]
    #[inline(never)]
    fn process_ack_of_nothing(&mut self, ack: u32, a: &mut AckState, out: &mut impl Outbox) {
        if !self.stack.ack_event_first {
            self.cc.on_ack(&self.view, &mut self.window, &a.sample);
        }
        if a.flags & flag::DSACKING != 0 {
            self.on_dubious_ack(a, out);
        }
        self.process_tlp_ack(ack, a.flags);
        self.answer_of_probe(out);
    }

    /// Takes in the window of an ACK, unless others that offered more have overtaken it (`tcp_may_update_window`); true if it did.
    #[inline(always)]
    pub(in crate::tcp::linux) fn update_peer_window(&mut self, bytes: u32, ack: u32) -> bool {
        if ack > 1 && !self.layout.is_stream() {
            if ack <= self.view.snd_una && bytes <= self.peer.bytes() && bytes > 0 {
                return false;
            }
            // Most ACKs of new data offer what the last one did, and only after an idle time another offer restarts anything.
            if bytes == self.peer.bytes() || self.view.packets_out > 0 {
                self.take_peer_window(bytes, ack);
                return true;
            }
        }
        self.update_peer_window_in_full(bytes, ack)
    }

    #[inline(never)]
    fn update_peer_window_in_full(&mut self, bytes: u32, ack: u32) -> bool {
        let is_first = ack == 1 && self.peer.is_first_after_syn_ack();
        let says_less = ack <= self.view.snd_una && bytes <= self.peer.bytes() && bytes > 0;
        if says_less && !is_first && !self.layout.is_stream() {
            return false;
        }
        let may_restart = bytes != self.peer.bytes() && self.view.packets_out == 0 && self.has_data();
        // An older packet of a stream changes no window.
        let news = !self.layout.is_stream() || self.update_window_in_bytes(bytes, ack, is_first);
        if may_restart && news {
            self.restart_after_idle();
        }
        if self.layout.is_stream() {
            return news;
        }
        self.take_peer_window(bytes, ack);
        true
    }

    /// [`Self::update_peer_window`], where nothing has overtaken the ACK.
    #[inline(always)]
    pub(super) fn take_peer_window(&mut self, bytes: u32, ack: u32) {
        self.peer.update(bytes, ack);
        if self.layout.next_short(ack) <= self.peer.end() {
            self.end_window_in_bytes(ack);
        }
    }

    /// Not all segments of the receiver's window are full, or one behind it may have room in what is left: finds the first that does not lie in it
    /// as a whole. A FIN takes a byte of it behind the payload of its segment (`tcp_snd_wnd_test`).
    #[cold]
    #[inline(never)]
    pub(super) fn end_window_in_bytes(&mut self, ack: u32) {
        let bytes = self.layout.before(ack) + u64::from(self.peer.bytes());
        let fits = self.layout.find(bytes);
        self.peer.set_end(if bytes > self.layout.total() { fits } else { fits.min(self.close.fin()) });
    }

    /// Congestion control sets the window after an ACK, or PRR does during a reduction (`tcp_cong_control`).
    #[inline(always)]
    fn steer_window(&mut self, a: &AckState) {
        if self.needs.cong_control {
            return self.obey_control(&a.sample);
        }
        if self.view.in_reduction() {
            self.reduce_cwnd(a.sample.delivered, a.sample.losses, a.flags);
        } else if self.may_raise_cwnd(a.flags) {
            self.cc.cong_avoid(&self.view, &mut self.window, a.sample.delivered);
            self.usage.note_changed(self.view.jiffies);
            self.reduce_if_asked();
        }
        self.update_pacing_rate();
    }

    /// Congestion control sets window and pacing rate by itself.
    #[inline(never)]
    pub(super) fn obey_control(&mut self, sample: &RateSample) {
        self.view.mss = self.mss_now();
        self.cc.cong_control(&self.view, &mut self.window, sample);
        self.window.pacing_rate = self.window.pacing_rate.min(self.pacing.max_rate());
    }

    /// Enters CWR if the control has just asked for it.
    #[inline]
    pub(in crate::tcp::linux) fn reduce_if_asked(&mut self) {
        if self.window.enters_cwr {
            self.reduce_as_asked();
        }
    }

    #[cold]
    #[inline(never)]
    fn reduce_as_asked(&mut self) {
        self.window.enters_cwr = false;
        self.enter_cwr();
    }

    /// Growth needs in-order progress, unless the path is known to reorder.
    fn may_raise_cwnd(&self, flags: u32) -> bool {
        let forward = if self.reordering.is_known() { flag::DATA_ACKED | flag::DATA_SACKED } else { flag::DATA_ACKED };
        flags & forward != 0
    }

    #[inline]
    pub(in crate::tcp::linux) fn count_delivered(&mut self, n: u32, ece: bool) {
        self.view.delivered += n;
        if ece {
            self.view.delivered_ce += n;
        }
    }
}
