//! Loss recovery: states, PRR (RFC 6937), RACK and TLP (RFC 8985), F-RTO (RFC 5682), undo by timestamps and D-SACK
//! (RFC 3522, RFC 3708), as Linux 6.12 net/ipv4/tcp_input.c, tcp_recovery.c and tcp_timer.c have them.
//!
//! Leaves out: connections without SACK or timestamps, MTU probing, thin-stream timeouts, giving up.

use super::ack::{flag, AckState, Rexmit};
use super::scoreboard::mark;
use super::sender::{Pending, Sender, RTO_MAX_MS};
use super::stack::PrrBelowSsthresh;
use super::tcb::{CaState, INFINITE_SSTHRESH};
use crate::cc::{CongestionControl, Event};
use crate::fabric::Fabric;

/// Least timeout of RACK and TLP, us.
const TIMEOUT_MIN_US: u64 = 2_000;
/// Recoveries after which a widened reordering window shrinks again.
const REORDER_PERSIST: u8 = 16;
/// Largest assumed reordering, segments (sysctl tcp_max_reordering).
const MAX_REORDERING: u32 = 300;

/// State of recovery.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// End of the episode.
    pub high_seq: u32,
    pub prior_ssthresh: u32,
    pub undo_marker: Option<u32>,
    /// Retransmissions not yet known to be unnecessary; negative before the first.
    pub undo_retrans: i32,
    /// Timestamp of the first retransmission of the episode, ms.
    pub retrans_stamp: Option<u32>,
    pub prr_delivered: u32,
    pub prr_out: u32,
    pub tlp_high_seq: Option<u32>,
    pub tlp_retrans: bool,
    pub frto: bool,
    /// Timeouts since the last progress.
    pub timeouts: u32,
    pub reordering: u32,
    pub initial_reordering: u32,
    pub reordering_seen: bool,
    pub dsack_dups: u64,
    /// Segments ever marked lost.
    pub lost: u32,
}

impl Recovery {
    pub fn new(reordering: u32) -> Self {
        Self {
            high_seq: 0,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: -1,
            retrans_stamp: None,
            prr_delivered: 0,
            prr_out: 0,
            tlp_high_seq: None,
            tlp_retrans: false,
            frto: false,
            timeouts: 0,
            reordering,
            initial_reordering: reordering,
            reordering_seen: false,
            dsack_dups: 0,
            lost: 0,
        }
    }
}

/// State of RACK.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Latest transmission among the segments delivered, and its end.
    sent_us: u64,
    end_seq: u32,
    rtt_us: u32,
    pub advanced: bool,
    pub dsack_seen: bool,
    window_steps: u32,
    persist: u8,
    last_delivered: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_us: 0,
            end_seq: 0,
            rtt_us: 0,
            advanced: false,
            dsack_seen: false,
            window_steps: 1,
            persist: 0,
            last_delivered: 0,
        }
    }
}

impl Sender {
    // ---- RACK ----

    /// A segment with `marks`, ending at `end`, sent at `sent_us`, was delivered.
    #[inline]
    pub(super) fn rack_advance(&mut self, marks: u8, end: u32, sent_us: u64) {
        let rtt_us = (self.t.mstamp_us - sent_us) as u32;
        if rtt_us < self.t.min_rtt_us && marks & mark::ANY_RETRANS != 0 {
            // Probably the original arrived, not the retransmission.
            return;
        }
        let rack = &mut self.rack;
        rack.advanced = true;
        rack.rtt_us = rtt_us;
        if (sent_us, end) > (rack.sent_us, rack.end_seq) {
            rack.sent_us = sent_us;
            rack.end_seq = end;
        }
    }

    fn reorder_window_us(&self) -> u32 {
        if !self.rec.reordering_seen && (self.t.state >= CaState::Recovery || self.t.sacked_out >= self.rec.reordering)
        {
            return 0;
        }
        ((self.t.min_rtt_us >> 2).saturating_mul(self.rack.window_steps)).min(self.t.srtt_us8 >> 3)
    }

    /// us until the segment counts as lost.
    fn rack_remaining(&self, sent_us: u64, window_us: u32) -> i64 {
        i64::from(self.rack.rtt_us) + i64::from(window_us) - (self.t.mstamp_us - sent_us) as i64
    }

    /// Marks what was sent long enough before the latest delivery; returns the longest wait for the rest, us.
    fn rack_detect_loss(&mut self) -> u32 {
        let window_us = self.reorder_window_us();
        let mut wait = 0;
        let mut at = self.board.oldest();
        while let Some(seq) = at {
            at = self.board.younger(seq);
            let s = *self.board.get(seq);
            if s.marks & mark::LOST != 0 && s.marks & mark::RETRANS == 0 {
                continue;
            }
            if (self.rack.sent_us, self.rack.end_seq) <= (s.sent_us, seq + 1) {
                break;
            }
            let remaining = self.rack_remaining(s.sent_us, window_us);
            if remaining <= 0 {
                self.mark_lost(seq);
                self.board.unlist(seq);
            } else {
                wait = wait.max(remaining as u32);
            }
        }
        wait
    }

    /// Looks for losses if RACK has moved; true if the reordering timer was set.
    fn rack_mark_lost(&mut self, net: &mut Fabric) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        let wait = self.rack_detect_loss();
        if wait == 0 {
            return false;
        }
        let after = self.clock.from_us(u64::from(wait) + TIMEOUT_MIN_US).min(self.rto_jiffies);
        self.set_timer(net, Pending::Reorder, after);
        true
    }

    /// D-SACKs widen the reordering window, at most once a round trip.
    pub(super) fn rack_update_window(&mut self, prior_delivered: u32) {
        let rack = &mut self.rack;
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < rack.last_delivered {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.window_steps = (rack.window_steps + 1).min(0xff);
            rack.dsack_seen = false;
            rack.last_delivered = self.t.delivered;
            rack.persist = REORDER_PERSIST;
        } else if rack.persist == 0 {
            rack.window_steps = 1;
        }
    }

    pub(super) fn on_reorder_timeout(&mut self, net: &mut Fabric) {
        let prior = self.t.in_flight();
        let lost = self.rec.lost;
        self.rack_detect_loss();
        if prior != self.t.in_flight() {
            if self.t.state != CaState::Recovery {
                self.enter_recovery(false);
                let newly_lost = self.rec.lost - lost;
                self.reduce_cwnd(1, newly_lost, 0);
            }
            self.retransmit_lost(net);
        }
        if self.pending != Pending::Retransmit {
            self.rearm_rto(net);
        }
    }

    /// Marks a segment lost; a lost retransmission is lost again.
    pub(super) fn mark_lost(&mut self, seq: u32) {
        let s = self.board.get_mut(seq);
        if s.marks & mark::SACKED != 0 {
            return;
        }
        if s.marks & mark::LOST == 0 {
            s.marks |= mark::LOST;
            self.t.lost_out += 1;
        } else if s.marks & mark::RETRANS != 0 {
            s.marks &= !mark::RETRANS;
            self.t.retrans_out -= 1;
        } else {
            return;
        }
        self.rec.lost += 1;
        self.board.push_lost(seq);
    }

    // ---- Tail loss probe and retransmission timeout ----

    /// us until the RTO of the oldest segment.
    fn rto_delta_us(&self) -> i64 {
        let head = self.board.get(self.t.snd_una).sent_us + self.clock.to_us(self.rto_jiffies);
        head as i64 - self.t.mstamp_us as i64
    }

    /// Schedules a tail loss probe; false if none is due.
    pub(super) fn schedule_loss_probe(&mut self, net: &mut Fabric, advancing: bool) -> bool {
        if !self.stack.tail_loss_probe
            || self.t.packets_out == 0
            || !matches!(self.t.state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut after = if self.t.srtt_us8 == 0 {
            self.clock.from_ms(1000)
        } else {
            let slack = if self.t.packets_out == 1 { u64::from(self.stack.rto_min_ms) * 1000 } else { TIMEOUT_MIN_US };
            self.clock.from_us(u64::from(self.t.srtt_us8 >> 2) + slack)
        };
        if advancing {
            after = after.min(self.rto_jiffies);
        } else {
            let delta = self.rto_delta_us();
            if delta > 0 {
                after = after.min(self.clock.from_us(delta as u64));
            }
        }
        self.set_timer(net, Pending::LossProbe, after);
        true
    }

    pub(super) fn send_loss_probe(&mut self, net: &mut Fabric) {
        if self.rec.tlp_high_seq.is_none() && self.t.packets_out > 0 {
            self.rec.tlp_retrans = false;
            let sent = if self.has_data() && self.t.snd_nxt < self.window_end {
                self.write(net, true) > 0
            } else {
                let last = self.t.snd_nxt - 1;
                self.rec.tlp_retrans = self.retransmit(net, last, false);
                self.rec.tlp_retrans
            };
            if sent {
                self.counters.tlp_probes += 1;
                self.rec.tlp_high_seq = Some(self.t.snd_nxt);
                // The timer now runs from here.
                self.pending = Pending::Nothing;
            }
        }
        self.rearm_rto(net);
    }

    /// (Re)starts the retransmission timer after progress.
    pub(super) fn rearm_rto(&mut self, net: &mut Fabric) {
        if self.t.packets_out == 0 {
            self.clear_timer();
            return;
        }
        let mut rto = self.rto_jiffies;
        if matches!(self.pending, Pending::Reorder | Pending::LossProbe) {
            rto = self.clock.from_us(self.rto_delta_us().max(1) as u64);
        }
        self.set_timer(net, Pending::Retransmit, rto);
    }

    pub(super) fn set_xmit_timer(&mut self, net: &mut Fabric) {
        if !self.schedule_loss_probe(net, true) {
            self.rearm_rto(net);
        }
    }

    pub(super) fn on_retransmit_timeout(&mut self, net: &mut Fabric) {
        self.pending = Pending::Nothing;
        if self.t.packets_out == 0 {
            return;
        }
        self.counters.rto_timeouts += 1;
        self.enter_loss();
        self.rec.timeouts += 1;
        let una = self.t.snd_una;
        self.retransmit(net, una, true);
        self.backoff += 1;
        self.rto_jiffies = (self.rto_jiffies * 2).min(self.clock.from_ms(RTO_MAX_MS));
        self.set_timer(net, Pending::Retransmit, self.rto_jiffies);
    }

    fn enter_loss(&mut self) {
        let new_recovery = self.t.state < CaState::Recovery;
        self.timeout_mark_lost();
        if self.t.state <= CaState::Disorder
            || self.rec.high_seq <= self.t.snd_una
            || (self.t.state == CaState::Loss && self.rec.timeouts == 0)
        {
            self.rec.prior_ssthresh = self.t.current_ssthresh();
            self.t.prior_cwnd = self.t.cwnd;
            self.t.ssthresh = self.cc.ssthresh(&self.t);
            self.cc.cwnd_event(&mut self.t, Event::Loss);
            self.init_undo();
            self.counters.cwnd_reductions += 1;
        }
        self.t.cwnd = self.t.in_flight() + 1;
        self.t.cwnd_cnt = 0;
        if self.t.state <= CaState::Disorder && self.t.sacked_out >= self.rec.initial_reordering {
            self.rec.reordering = self.rec.reordering.min(self.rec.initial_reordering);
        }
        self.set_state(CaState::Loss);
        self.rec.high_seq = self.t.snd_nxt;
        self.rec.tlp_high_seq = None;
        self.queue_cwr = self.ecn;
        self.rec.frto = new_recovery || self.rec.timeouts > 0;
    }

    /// Marks everything lost but what was sent less than an RTT ago.
    fn timeout_mark_lost(&mut self) {
        let (una, nxt) = (self.t.snd_una, self.t.snd_nxt);
        let reneging = self.board.get(una).marks & mark::SACKED != 0;
        if reneging {
            self.t.sacked_out = 0;
            self.board.clear_runs();
        }
        for seq in una..nxt {
            let s = self.board.get_mut(seq);
            if reneging {
                s.marks &= !mark::SACKED;
            } else {
                let sent_us = s.sent_us;
                if seq != una && self.rack_remaining(sent_us, 0) > 0 {
                    continue;
                }
            }
            self.mark_lost(seq);
        }
    }

    // ---- States ----

    pub(super) fn set_state(&mut self, new: CaState) {
        self.cc.set_state(&mut self.t, new);
        self.t.state = new;
    }

    fn init_undo(&mut self) {
        self.rec.undo_marker = Some(self.t.snd_una);
        let mut out = self.t.retrans_out as i32;
        if self.rec.tlp_high_seq.is_some() && self.rec.tlp_retrans {
            out += 1;
        }
        // Zero would mean "undo now".
        self.rec.undo_retrans = if out == 0 { -1 } else { out };
    }

    fn init_reduction(&mut self) {
        self.rec.high_seq = self.t.snd_nxt;
        self.rec.tlp_high_seq = None;
        self.t.cwnd_cnt = 0;
        self.t.prior_cwnd = self.t.cwnd;
        self.rec.prr_delivered = 0;
        self.rec.prr_out = 0;
        self.t.ssthresh = self.cc.ssthresh(&self.t);
        self.queue_cwr = self.ecn;
        self.counters.cwnd_reductions += 1;
    }

    /// Proportional rate reduction.
    pub(super) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u32, flags: u32) {
        if delivered == 0 {
            return;
        }
        let rec = &mut self.rec;
        rec.prr_delivered += delivered;
        let in_flight = self.t.in_flight();
        let delta = i64::from(self.t.ssthresh) - i64::from(in_flight);
        let (prr_delivered, prr_out) = (i64::from(rec.prr_delivered), i64::from(rec.prr_out));
        let delivered = i64::from(delivered);
        let mut quota = if delta < 0 {
            let prior = i64::from(self.t.prior_cwnd);
            (i64::from(self.t.ssthresh) * prr_delivered + prior - 1) / prior - prr_out
        } else {
            let slow_start = (prr_delivered - prr_out).max(delivered);
            let quota = match self.stack.prr_below_ssthresh {
                PrrBelowSsthresh::Una => slow_start + i64::from(flags & flag::UNA_ADVANCED != 0 && newly_lost == 0),
                PrrBelowSsthresh::Retransmission => {
                    if flags & flag::RETRANS_ACKED != 0 && flags & flag::LOST_RETRANS == 0 {
                        slow_start + 1
                    } else {
                        delivered
                    }
                }
            };
            quota.min(delta)
        };
        // Entering recovery always sends one.
        quota = quota.max(i64::from(rec.prr_out == 0));
        self.t.cwnd = (i64::from(in_flight) + quota) as u32;
    }

    fn end_reduction(&mut self) {
        if self.t.ssthresh < INFINITE_SSTHRESH && (self.t.state == CaState::Cwr || self.rec.undo_marker.is_some()) {
            self.t.cwnd = self.t.ssthresh;
        }
        self.cc.cwnd_event(&mut self.t, Event::CompleteCwr);
    }

    /// A mark or a local drop: reduce without retransmitting; not to be undone.
    pub(super) fn enter_cwr(&mut self) {
        self.rec.prior_ssthresh = 0;
        if self.t.state < CaState::Cwr {
            self.rec.undo_marker = None;
            self.init_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    fn enter_recovery(&mut self, ece: bool) {
        if !self.any_retrans_done() {
            self.rec.retrans_stamp = None;
        }
        self.rec.prior_ssthresh = 0;
        self.init_undo();
        if !self.t.in_reduction() {
            if !ece {
                self.rec.prior_ssthresh = self.t.current_ssthresh();
            }
            self.init_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    fn try_keep_open(&mut self) {
        let disorder = self.t.sacked_out + self.t.lost_out > 0 || self.any_retrans_done();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.t.state != state {
            self.set_state(state);
            self.rec.high_seq = self.t.snd_nxt;
        }
    }

    fn try_to_open(&mut self, flags: u32) {
        if !self.any_retrans_done() {
            self.rec.retrans_stamp = None;
        }
        if flags & flag::ECE != 0 {
            self.enter_cwr();
        }
        if self.t.state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    fn any_retrans_done(&self) -> bool {
        self.t.retrans_out > 0
            || (self.t.packets_out > 0 && self.board.get(self.t.snd_una).marks & mark::EVER_RETRANS != 0)
    }

    // ---- Undo ----

    /// The ACK echoes a timestamp from before the first retransmission (or nothing was retransmitted).
    fn packet_delayed(&self, tsecr: u32) -> bool {
        self.rec.retrans_stamp.is_none_or(|stamp| tsecr < stamp)
    }

    fn may_undo(&self, tsecr: u32) -> bool {
        self.rec.undo_marker.is_some() && (self.rec.undo_retrans == 0 || self.packet_delayed(tsecr))
    }

    fn undo_reduction(&mut self, unmark_loss: bool) {
        if unmark_loss {
            for seq in self.t.snd_una..self.t.snd_nxt {
                self.board.get_mut(seq).marks &= !mark::LOST;
            }
            self.t.lost_out = 0;
            self.board.clear_lost();
        }
        if self.rec.prior_ssthresh != 0 {
            self.t.cwnd = self.cc.undo_cwnd(&self.t);
            if self.rec.prior_ssthresh > self.t.ssthresh {
                self.t.ssthresh = self.rec.prior_ssthresh;
                self.queue_cwr = false;
            }
        }
        self.rec.undo_marker = None;
        self.rack.advanced = true;
        self.counters.undos += 1;
    }

    fn try_undo_recovery(&mut self, tsecr: u32) {
        if self.may_undo(tsecr) {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        self.set_state(CaState::Open);
    }

    fn try_undo_dsack(&mut self) -> bool {
        if self.rec.undo_marker.is_none() || self.rec.undo_retrans != 0 {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(REORDER_PERSIST);
        self.undo_reduction(false);
        true
    }

    fn try_undo_loss(&mut self, frto: bool, tsecr: u32) -> bool {
        if !frto && !self.may_undo(tsecr) {
            return false;
        }
        self.undo_reduction(true);
        self.rec.timeouts = 0;
        self.set_state(CaState::Open);
        true
    }

    /// Undo on a partial ACK in recovery; true if nothing more is to be marked or retransmitted now.
    fn try_undo_partial(&mut self, a: &AckState) -> bool {
        if self.rec.undo_marker.is_some() && self.packet_delayed(a.tsecr) {
            self.check_reordering(a.prior_una);
            if self.t.retrans_out > 0 {
                return true;
            }
            if !self.any_retrans_done() {
                self.rec.retrans_stamp = None;
            }
            self.undo_reduction(true);
            self.try_keep_open();
        }
        false
    }

    /// Something above `low` was delivered before `low`, which was never retransmitted.
    pub(super) fn check_reordering(&mut self, low: u32) {
        let high = self.highest_sacked_seq();
        if low >= high {
            return;
        }
        let distance = high - low;
        if distance > self.rec.reordering {
            self.rec.reordering = distance.min(MAX_REORDERING);
        }
        self.rec.reordering_seen = true;
    }

    /// End of the highest SACKed range, or the cumulative point.
    pub(super) fn highest_sacked_seq(&self) -> u32 {
        if self.t.sacked_out == 0 {
            self.t.snd_una
        } else {
            self.board.highest_sacked.max(self.t.snd_una)
        }
    }

    // ---- The state machine ----

    fn identify_loss(&mut self, a: &mut AckState, net: &mut Fabric) {
        if self.t.packets_out == 0 {
            return;
        }
        let retrans = self.t.retrans_out;
        if self.rack_mark_lost(net) {
            a.flags &= !flag::SET_XMIT_TIMER;
        }
        if retrans > self.t.retrans_out {
            a.flags |= flag::LOST_RETRANS;
        }
    }

    /// What an unusual ACK means for the state.
    pub(super) fn on_dubious_ack(&mut self, a: &mut AckState, net: &mut Fabric) {
        let ece = a.flags & flag::ECE != 0;
        if self.t.packets_out == 0 {
            self.t.sacked_out = 0;
        }
        if ece {
            self.rec.prior_ssthresh = 0;
        }
        if a.flags & flag::RENEGING != 0 && a.flags & flag::UNA_ADVANCED != 0 {
            // The receiver may only be slow to say so: wait half an RTT.
            let after = self.clock.from_us(u64::from(self.t.srtt_us8 >> 4)).max(self.clock.from_ms(10));
            self.set_timer(net, Pending::Retransmit, after);
            a.flags &= !flag::SET_XMIT_TIMER;
            return;
        }
        if self.t.state == CaState::Open {
            self.rec.retrans_stamp = None;
        } else if self.t.snd_una >= self.rec.high_seq {
            match self.t.state {
                CaState::Cwr if self.t.snd_una != self.rec.high_seq => {
                    self.end_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    self.try_undo_recovery(a.tsecr);
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.t.state {
            CaState::Recovery => {
                if a.flags & flag::UNA_ADVANCED != 0 && self.try_undo_partial(a) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(a.flags);
                }
                self.identify_loss(a, net);
                if self.t.state != CaState::Recovery {
                    if self.t.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(ece);
                }
            }
            CaState::Loss => {
                self.process_loss(a);
                self.identify_loss(a, net);
                if self.t.state != CaState::Open && a.flags & flag::LOST_RETRANS == 0 {
                    return;
                }
                if !self.look_for_recovery(a, net, ece) {
                    return;
                }
            }
            _ => {
                if !self.look_for_recovery(a, net, ece) {
                    return;
                }
            }
        }
        a.rexmit = Rexmit::Lost;
    }

    /// Enters recovery if something is lost; true if it did.
    fn look_for_recovery(&mut self, a: &mut AckState, net: &mut Fabric, ece: bool) -> bool {
        if self.t.state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_loss(a, net);
        if self.t.lost_out == 0 {
            self.try_to_open(a.flags);
            return false;
        }
        self.enter_recovery(ece);
        true
    }

    /// An ACK after a timeout.
    fn process_loss(&mut self, a: &mut AckState) {
        let recovered = self.t.snd_una >= self.rec.high_seq;
        if a.flags & flag::UNA_ADVANCED != 0 && self.try_undo_loss(false, a.tsecr) {
            return;
        }
        if self.rec.frto {
            if a.flags & flag::ORIG_SACK_ACKED != 0 && self.try_undo_loss(true, a.tsecr) {
                return;
            }
            if self.t.snd_nxt > self.rec.high_seq {
                if a.flags & flag::DATA_SACKED != 0 || a.duplicate {
                    self.rec.frto = false;
                }
            } else if a.flags & flag::UNA_ADVANCED != 0 && !recovered {
                self.rec.high_seq = self.t.snd_nxt;
                if self.has_data() && self.window_end > self.t.snd_nxt {
                    a.rexmit = Rexmit::New;
                    return;
                }
                self.rec.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(a.tsecr);
            return;
        }
        a.rexmit = Rexmit::Lost;
    }

    /// Ends a probe episode.
    pub(super) fn process_tlp_ack(&mut self, ack: u32, flags: u32) {
        let Some(high) = self.rec.tlp_high_seq else { return };
        if ack < high {
            return;
        }
        if !self.rec.tlp_retrans || flags & flag::DSACK_TLP != 0 {
            self.rec.tlp_high_seq = None;
        } else if ack > high {
            // The probe repaired a loss.
            self.init_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.try_keep_open();
        } else if flags & (flag::UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED) == 0 {
            self.rec.tlp_high_seq = None;
        }
    }

    /// Retransmits lost segments, lowest first, as the window allows.
    pub(super) fn retransmit_lost(&mut self, net: &mut Fabric) {
        if self.t.packets_out == 0 {
            return;
        }
        let mut rearm = false;
        while self.t.cwnd > self.t.in_flight() && self.t.retrans_out < self.t.lost_out {
            let Some(seq) = self.board.next_lost(self.t.snd_una) else { break };
            if !self.retransmit(net, seq, true) {
                break;
            }
            if self.t.in_reduction() {
                self.rec.prr_out += 1;
            }
            rearm |= seq == self.t.snd_una && self.pending != Pending::Reorder;
        }
        if rearm {
            self.set_timer(net, Pending::Retransmit, self.rto_jiffies);
        }
    }

    /// Sends what recovery asks for once the window is known.
    pub(super) fn send_recovery(&mut self, rexmit: Rexmit, net: &mut Fabric) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                self.write(net, false);
                if self.t.snd_nxt > self.rec.high_seq {
                    return;
                }
                self.rec.frto = false;
            }
            Rexmit::Lost => {}
        }
        self.retransmit_lost(net);
    }
}
