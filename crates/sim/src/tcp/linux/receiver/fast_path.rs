//! The fast path of the common segment: the next one in order, when nothing is missing or waits to be acknowledged out of turn. A property
//! test (`fast_path_tests`) shows that it ends where the full path does.

use super::charge::Head;
use super::Receiver;
use crate::outbox::{End, Outbox};
use crate::packet::{Ecn, HEADERS};
use crate::segment::{form, Segment};
use crate::time::Time;

impl Receiver {
    /// True if [`Self::on_fast_data`] can handle the packet: the next segment, a full one, without a flag but the codepoint that is expected. All
    /// that is left of [`Self::on_data`] is to count it, to widen the window and to acknowledge every second one.
    #[inline]
    pub(in crate::tcp::linux) fn takes_fast_path(&self, p: &Segment) -> bool {
        p.seq == self.rcv_nxt && p.seq < self.fast_path.until && p.form() == self.fast_path.form
    }

    /// Does the work of [`Self::on_data`] for a segment that [takes the fast path](Self::takes_fast_path).
    pub(super) fn on_fast_data(&mut self, p: &Segment, out: &mut impl Outbox) {
        let mut waits_for_read = false;
        if p.tsval < self.form.tsecr {
            // An older timestamp is looked at in full (PAWS).
            return self.on_data(p, out);
        }
        if self.buffer.is_acked(p.seq) {
            // Its timestamp is the one to echo, and the segment after it is the one to acknowledge.
            self.form.tsecr = p.tsval;
            self.count_fast_data(p, out.now());
            if self.delay.quick() == 0 {
                self.delay.schedule();
                return self.delay_ack_lazily(out);
            }
        } else {
            self.count_fast_data(p, out.now());
            // An ACK that would shrink the window goes when the segment has been read.
            waits_for_read = !self.buffer.advances_in_order() && self.delay.quick() == 0;
        }
        let window = if !waits_for_read {
            self.buffer.advertise_in_order(self.rcv_nxt)
        } else if self.delay.has_just_begun(out.now()) {
            self.read_fast(out.now());
            self.buffer.advertise_read(self.rcv_nxt)
        } else {
            self.delay.schedule();
            return self.delay_ack_in_full(out);
        };
        self.send_fast_ack(window, out);
        self.read_fast(out.now());
    }

    /// The application reads the segment.
    #[inline(always)]
    fn read_fast(&mut self, now: Time) {
        if self.buffer.is_to_tune(now) {
            self.tune(0, now);
        }
    }

    /// Does the rest of [`Self::on_data`] when the ACK does not go at once.
    #[inline(never)]
    fn delay_ack_in_full(&mut self, out: &mut impl Outbox) {
        let waits = self.waits_to_acknowledge(out);
        // A segment that is read at once takes room only while it is acknowledged.
        if self.kernel.charges_in_order && !(waits && self.unread.is_empty()) {
            let head = Head::of(self.rcv_nxt - 1, self.rcv_nxt, self.layout.mss());
            self.unread.add_last(&head, &self.kernel.cost);
        }
        if !waits {
            self.send_ack(self.rcv_nxt, out);
        }
        self.on_read(true, out);
    }

    #[inline(always)]
    fn count_fast_data(&mut self, p: &Segment, now: Time) {
        self.rcv_nxt = p.seq + 1;
        self.buffer.rtt_by_timestamp(p.tsecr, false, now);
        self.time_delayed_ack(now);
        if self.buffer.grow_in_order() {
            self.delay.grant_odd();
        }
    }

    /// Does the work of [`Self::delay_ack`] on the fast path. If no ACK waits, the interval is the minimum one and would end after the timer's event,
    /// only the present time is noted: its tick is computed if the ACK still waits when that event comes.
    #[inline]
    fn delay_ack_lazily(&mut self, out: &mut impl Outbox) {
        if self.delay.wait_lazily(out.now()) {
            self.read_fast(out.now());
            if self.buffer.may_open_wide() {
                self.ack_after_read(true, out);
            }
        } else {
            self.delay_ack_in_full(out);
        }
    }

    /// Does the work of [`Self::send_ack`] on the fast path.
    #[inline(always)]
    fn send_fast_ack(&mut self, window: u32, out: &mut impl Outbox) {
        let mut p = self.ack_packet(self.rcv_nxt, window, out.now());
        p.flags |= self.echo.take_flags();
        self.counters.acks_sent += 1;
        self.delay.note_scheduled_ack();
        out.send(End::Receiver, p);
    }

    /// Looks again up to which segment the next ones may [take the fast path](Self::takes_fast_path). Called after each segment that did
    /// not, with its codepoint.
    pub(super) fn update_fast_path(&mut self, ecn: Ecn) {
        self.fast_path.until = 0;
        if self.accecn.is_some() || !self.early.is_empty() || !self.early.has_nothing_to_report() {
            return;
        }
        let nothing_waits = !self.compression.holds() && !self.ack_now && !self.pushed;
        let roomy = self.buffer.is_measured() && self.buffer.has_scale() && !self.buffer.is_tight_in_order();
        let unmarked = (ecn == Ecn::NotEct || ecn == self.echo.unmarked()) && self.echo.expects(ecn);
        if nothing_waits && roomy && unmarked {
            self.fast_path.form = form((HEADERS + self.layout.mss()) as u16, ecn.flags());
            // One short of the segment that fills the window being timed, or ends the transfer: those take the full path.
            let until = self.buffer.window_ends().min(u64::from(self.layout.end())).saturating_sub(1);
            self.fast_path.until = until as u32;
        }
    }
}
