//! Loss recovery: the state machine, F-RTO (RFC 5682), retransmission (Linux 6.12 net/ipv4/tcp_input.c). Detection is in `rack`, the window
//! during a reduction in `prr`, timers in `timeout`, undo in `undo`.
//!
//! Leaves out: MTU probing.

pub(super) mod loss_probe;
mod newreno;
pub(super) mod prr;
mod rate_halving;
mod timeout;
pub(super) mod undo;

use self::prr::Reduction;
use super::ack::{flag, AckState, Rexmit};
use super::output::transmit::{Push, Retransmission};
use super::scoreboard::mark;
use super::{FastPath, Pending, Sender};
use crate::cc::{CaState, CongestionControl, Event, Renumbering, INFINITE_SSTHRESH};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::options::{CwndReduction, LossDetection};

/// The episode that the sender is in. Told when one begins and of timeouts; asked by whatever depends on whether the
/// episode is over.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct Recovery {
    /// First segment beyond what was outstanding when the episode began.
    high_seq: u32,
    /// F-RTO watches whether the timeout was spurious.
    frto: bool,
    /// Timeouts since the last progress.
    timeouts: u32,
}

impl Recovery {
    /// First segment beyond what was outstanding when the episode began.
    #[inline]
    pub fn end(&self) -> u32 {
        self.high_seq
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        r.apply(&mut self.high_seq);
    }

    /// The episode takes in all that is outstanding now.
    pub fn extend_to(&mut self, snd_nxt: u32) {
        self.high_seq = snd_nxt;
    }

    /// Something new was acknowledged.
    #[inline]
    pub fn note_progress(&mut self) {
        self.timeouts = 0;
    }

    /// Nothing has timed out since the last progress.
    pub fn made_progress(&self) -> bool {
        self.timeouts == 0
    }

    /// A retransmission timeout.
    pub fn count_timeout(&mut self) {
        self.timeouts += 1;
    }

    /// Lets F-RTO watch the timeout that just began, if the state before allows it.
    pub fn watch_timeout(&mut self, was_not_recovering: bool) {
        self.frto = was_not_recovering || self.timeouts > 0;
    }
}

impl Sender {
    pub(in crate::tcp::linux) fn set_state(&mut self, new: CaState) {
        self.cc.on_event(&self.view, &mut self.window, Event::State(new));
        self.view.state = new;
        self.fast_path = FastPath::Closed;
        if new == CaState::Open {
            self.set_reneged(false);
        }
    }

    pub(in crate::tcp::linux) fn init_reduction(&mut self) {
        self.start_reduction();
        self.window.ssthresh = self.cc.ssthresh(&self.view, &self.window);
        self.counters.cwnd_reductions += 1;
    }

    /// A reduction to the threshold that there is.
    pub(in crate::tcp::linux) fn start_reduction(&mut self) {
        self.rec.extend_to(self.view.snd_nxt);
        self.probe.end();
        self.window.cwnd_cnt = 0;
        self.view.prior_cwnd = self.window.cwnd;
        self.prr.start();
        self.ecn.queue_cwr();
    }

    /// Proportional rate reduction, if something was delivered. Entering recovery always sends one.
    pub(in crate::tcp::linux) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u32, flags: u32) {
        if delivered > 0 {
            self.reduce_proportionally(delivered, newly_lost, flags, self.prr.nothing_sent());
        }
    }

    /// Proportional rate reduction; `send_one` whatever it says.
    pub(in crate::tcp::linux) fn reduce_proportionally(
        &mut self,
        delivered: u32,
        newly_lost: u32,
        flags: u32,
        send_one: bool,
    ) {
        let has = |wanted: u32| flags & wanted != 0;
        let reduction = Reduction {
            in_flight: self.view.in_flight(),
            ssthresh: self.window.ssthresh,
            prior_cwnd: self.view.prior_cwnd,
            newly_delivered: delivered,
            newly_lost,
            una_advanced: has(flag::UNA_ADVANCED),
            retransmission_arrived: has(flag::RETRANS_ACKED) && !has(flag::LOST_RETRANS),
            send_one,
        };
        self.window.cwnd = self.prr.cwnd(self.stack.prr_below_ssthresh, reduction);
    }

    pub(in crate::tcp::linux) fn end_reduction(&mut self) {
        if self.needs.cong_control {
            return;
        }
        if self.stack.cwnd_reduction == CwndReduction::RateHalving {
            self.end_halving();
        } else if self.window.ssthresh < INFINITE_SSTHRESH
            && (self.view.state == CaState::Cwr || self.undo.is_possible())
        {
            self.window.cwnd = self.window.ssthresh;
        }
        self.cc.on_event(&self.view, &mut self.window, Event::CompleteCwr);
    }

    /// A mark or a local drop: reduce without retransmitting; not to be undone.
    pub(in crate::tcp::linux) fn enter_cwr(&mut self) {
        self.undo.forget_ssthresh();
        if self.view.state < CaState::Cwr {
            self.undo.forbid();
            self.init_reduction();
            if self.stack.cwnd_reduction == CwndReduction::RateHalving {
                self.bound_by_flight(1);
            }
            self.set_state(CaState::Cwr);
        }
    }

    pub(in crate::tcp::linux) fn enter_recovery(&mut self, ece: bool) {
        if !self.any_retrans_done() {
            self.undo.forget_retransmissions();
        }
        self.undo.forget_ssthresh();
        self.init_undo();
        if !self.view.in_reduction() {
            if !ece {
                self.undo.remember_ssthresh(self.window.current_ssthresh(&self.view));
            }
            self.init_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    #[inline]
    pub(in crate::tcp::linux) fn try_keep_open(&mut self) {
        self.settle(self.view.sacked_out + self.view.lost_out > 0 || self.any_retrans_done());
    }

    /// Neither a reduction nor a loss: there is `disorder`, or all is well.
    #[inline]
    pub(in crate::tcp::linux) fn settle(&mut self, disorder: bool) {
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.view.state != state {
            self.set_state(state);
            self.rec.extend_to(self.view.snd_nxt);
        }
    }

    fn try_to_open(&mut self, flags: u32) {
        if !self.any_retrans_done() {
            self.undo.forget_retransmissions();
        }
        if flags & flag::ECE != 0 {
            self.enter_cwr();
        }
        if self.view.state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    pub(in crate::tcp::linux) fn any_retrans_done(&self) -> bool {
        self.view.retrans_out > 0
            || (self.view.packets_out > 0 && self.board.get(self.view.snd_una).marks & mark::EVER_RETRANS != 0)
    }

    /// Part of the ACKs in recovery, which are the most of those that look for losses.
    #[inline(always)]
    fn identify_loss(&mut self, a: &mut AckState, out: &mut impl Outbox) {
        if self.view.packets_out == 0 {
            return;
        }
        if !self.sack {
            return self.mark_head_lost(a.flags & flag::UNA_ADVANCED != 0);
        }
        let retrans = self.view.retrans_out;
        if self.rack_mark_lost(out) {
            a.flags &= !flag::SET_XMIT_TIMER;
        }
        if retrans > self.view.retrans_out {
            a.flags |= flag::LOST_RETRANS;
        }
    }

    #[inline(never)]
    fn identify_loss_separately(&mut self, a: &mut AckState, out: &mut impl Outbox) {
        self.identify_loss(a, out);
    }

    /// Acts on the meaning of an unusual ACK for the state.
    #[inline(always)]
    pub(in crate::tcp::linux) fn on_dubious_ack(&mut self, a: &mut AckState, out: &mut impl Outbox) {
        let ece = a.flags & flag::ECE != 0;
        if self.view.packets_out == 0 {
            self.view.sacked_out = 0;
        }
        if ece {
            self.undo.forget_ssthresh();
        }
        if a.flags & flag::RENEGING != 0 && a.flags & flag::UNA_ADVANCED != 0 {
            // The receiver may only be slow to say so: wait half an RTT.
            let after = self.clock.in_ticks(u64::from(self.view.srtt_us8 >> 4)).max(self.clock.from_ms(10));
            self.set_timer(out, Pending::Retransmit, after);
            a.flags &= !flag::SET_XMIT_TIMER;
            return;
        }
        if self.view.state == CaState::Open {
            self.undo.forget_retransmissions();
        } else if self.view.snd_una >= self.rec.end() {
            match self.view.state {
                CaState::Cwr if self.view.snd_una != self.rec.end() => {
                    self.end_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    if !self.sack {
                        self.view.sacked_out = 0;
                    }
                    if self.try_undo_recovery(a.tsecr) {
                        return;
                    }
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.view.state {
            CaState::Recovery => {
                if a.flags & flag::UNA_ADVANCED == 0 {
                    if !self.sack && a.duplicate {
                        self.count_duplicate_ack(ece);
                    }
                } else if self.try_undo_partial(a) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(a.flags);
                }
                self.identify_loss(a, out);
                if self.view.state != CaState::Recovery {
                    if self.view.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(ece);
                }
            }
            CaState::Loss => {
                self.process_loss(a);
                self.identify_loss_separately(a, out);
                if self.view.state != CaState::Open && a.flags & flag::LOST_RETRANS == 0 {
                    return;
                }
                if !self.look_for_recovery(a, out, ece) {
                    return;
                }
            }
            _ => {
                if !self.look_for_recovery(a, out, ece) {
                    return;
                }
            }
        }
        a.rexmit = Rexmit::Lost;
    }

    /// Enters recovery if something is lost; true if it did.
    fn look_for_recovery(&mut self, a: &mut AckState, out: &mut impl Outbox, ece: bool) -> bool {
        if !self.sack {
            self.count_or_begin_again(a, ece);
        }
        if self.view.state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_loss_separately(a, out);
        if self.view.lost_out == 0 {
            self.try_to_open(a.flags);
            return false;
        }
        self.enter_recovery(ece);
        true
    }

    /// An ACK after a timeout.
    fn process_loss(&mut self, a: &mut AckState) {
        let recovered = self.view.snd_una >= self.rec.end();
        if a.flags & flag::UNA_ADVANCED != 0 && self.try_undo_loss(false, a.tsecr) {
            return;
        }
        if self.rec.frto {
            if a.flags & flag::ORIG_SACK_ACKED != 0 && self.try_undo_loss(true, a.tsecr) {
                return;
            }
            if self.view.snd_nxt > self.rec.end() {
                if a.flags & flag::DATA_SACKED != 0 || a.duplicate {
                    self.rec.frto = false;
                }
            } else if a.flags & flag::UNA_ADVANCED != 0 && !recovered {
                self.rec.extend_to(self.view.snd_nxt);
                if self.has_data() && self.has_room_for_some() {
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
        if !self.sack {
            // In the second step of F-RTO a duplicate ACK shows that new data arrived.
            if self.view.snd_nxt > self.rec.end() && a.duplicate {
                self.count_duplicate_ack(a.flags & flag::ECE != 0);
            } else if a.flags & flag::UNA_ADVANCED != 0 {
                self.view.sacked_out = 0;
            }
        }
        a.rexmit = Rexmit::Lost;
    }

    /// Lost segments may have waited for a departure time, or for room in the host's own queue, that has come (`tcp_tsq_write`).
    pub(in crate::tcp::linux::sender) fn retransmit_waiting(&mut self, out: &mut impl Outbox) {
        match self.stack.loss_detection {
            LossDetection::Rack => self.retransmit_lost(out),
            LossDetection::Fack | LossDetection::Sack if self.view.retrans_out < self.view.lost_out => {
                self.retransmit_by_count(out);
            }
            LossDetection::Fack | LossDetection::Sack => {}
        }
    }

    /// Retransmits lost segments, lowest first, as the window allows.
    #[inline]
    pub(in crate::tcp::linux) fn retransmit_lost(&mut self, out: &mut impl Outbox) {
        if self.view.packets_out > 0 {
            if self.view.retrans_out < self.view.lost_out {
                self.retransmit_first_lost(out);
            } else if self.is_early(out.now()) {
                // It is asked before anything else whether it is too early, and that sets the timer (`tcp_pacing_check`).
                self.wait_for_departure(out);
            }
        }
    }

    #[inline(never)]
    fn retransmit_first_lost(&mut self, out: &mut impl Outbox) {
        let mut rearm = false;
        loop {
            if self.is_early(out.now()) {
                self.wait_for_departure(out);
                break;
            }
            if self.window.cwnd <= self.view.in_flight() || self.view.retrans_out >= self.view.lost_out {
                break;
            }
            let Some(seq) = self.board.next_lost(self.view.snd_una) else { break };
            if self.host_is_full_for(seq) {
                break;
            }
            let before = self.view.retrans_out;
            let result = if self.tso.enabled {
                let most = (self.window.cwnd - self.view.in_flight()).min(self.tso_limit());
                self.resend_skb(out, seq, most, true)
            } else {
                self.retransmit_inlined(out, seq, true)
            };
            if self.view.in_reduction() {
                self.prr.count_sent(self.view.retrans_out - before);
            }
            if result != Retransmission::Sent {
                break;
            }
            rearm |= seq <= self.view.snd_una && self.timer.pending() != Pending::Reorder;
            if self.is_last_outstanding(seq) {
                break;
            }
        }
        if rearm {
            self.set_timer(out, Pending::Retransmit, self.rto_ticks() + self.pacing_delay(out.now()));
        }
    }

    /// True if nothing is outstanding behind segment `seq`, or behind the skb that it begins.
    fn is_last_outstanding(&self, seq: u32) -> bool {
        let end = if self.tso.enabled { self.skbs.around(seq).map_or(seq + 1, |skb| skb.end) } else { seq + 1 };
        end >= self.view.snd_nxt
    }

    /// True if the receiver's window has room for at least a part of the next segment, or for all of it if segments are never cut.
    fn has_room_for_some(&self) -> bool {
        let next = self.view.snd_nxt;
        self.peer.end() > next
            || (self.tso.enabled && self.room_in_bytes() > 0)
            || (self.layout.is_stream() && self.stream.window_end > self.begins_at(next))
    }

    /// The second step of F-RTO: sends new data; true if it did. When small queues hold back the rest of them, what is lost goes first as soon as
    /// the device is done with the others (`tcp_tsq_write`).
    #[cold]
    #[inline(never)]
    fn write_some_new(&mut self, out: &mut impl Outbox) -> bool {
        let holds = !self.tso.enabled && !self.view.is_paced && !self.small_queue.is_asked();
        if holds {
            self.compute_pacing_rate();
        }
        let most = if holds { self.segments_at_once() } else { u32::MAX };
        self.stream.is_pushed = true;
        let sent = self.write_for(out, Push::AtMost(most));
        self.stream.is_pushed = false;
        let has_sent = self.view.snd_nxt > self.rec.end();
        if sent == most {
            self.retransmit_lost(out);
            self.write(out, false);
        }
        has_sent
    }

    /// Sends what recovery asks for once the window is known.
    #[inline(always)]
    pub(in crate::tcp::linux) fn send_recovery(&mut self, rexmit: Rexmit, out: &mut impl Outbox) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                if self.write_some_new(out) {
                    return;
                }
                self.rec.frto = false;
            }
            Rexmit::Lost => {}
        }
        self.retransmit_lost(out);
    }
}
