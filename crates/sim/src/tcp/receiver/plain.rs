//! The short way of plain segments, which are most: what is left of the long way is counting.

use super::delayed_ack::Delay;
use super::Receiver;
use crate::network::Network;
use crate::packet::{flags, Ecn, Packet};
use crate::time::Time;

impl Receiver {
    /// True for the common segment: the next one, without a flag or a mark, when nothing is missing or waits to be said. What is left of
    /// [`Self::on_data`] is to count it, to widen the window and to acknowledge it in its turn.
    #[inline]
    pub(in crate::tcp) fn is_plain(&self, p: &Packet) -> bool {
        p.seq == self.rcv_nxt && p.seq < self.steady_until && p.ecn == self.steady && p.flags == 0
    }

    /// What [`Self::on_data`] does about a [plain](Self::is_plain) segment.
    pub(super) fn on_plain_data(&mut self, p: &Packet, net: &mut Network) {
        if self.buffer.is_acked(p.seq) {
            // Its timestamp is the one to echo, and the segment after it is the one to acknowledge.
            self.form.tsecr = self.form.tsecr.max(p.tsval);
            self.count_plain(p, net.now());
            if self.quick == 0 {
                self.scheduled = true;
                return self.delay_plain_ack(net);
            }
        } else {
            self.count_plain(p, net.now());
        }
        self.send_plain_ack(net);
        self.buffer.on_read(self.rcv_nxt, net.now());
    }

    #[inline(always)]
    fn count_plain(&mut self, p: &Packet, now: Time) {
        self.rcv_nxt = p.seq + 1;
        self.buffer.rtt_by_timestamp(p.tsecr, now);
        self.time_delayed_ack(now);
        if self.buffer.grow_at_rest() {
            self.quick |= 1;
        }
    }

    /// What [`Self::delay_ack`] does after a [plain](Self::is_plain) segment. Mostly the timer's event comes before the least interval ends,
    /// and an ACK before both.
    #[inline]
    fn delay_plain_ack(&mut self, net: &mut Network) {
        if self.delack.is_none() && self.ato == self.ato_min && net.now() >= self.after_event {
            self.delack = Some(Delay::LeastFrom(net.now()));
            self.buffer.on_read(self.rcv_nxt, net.now());
            if self.buffer.may_open_wide() {
                self.ack_after_read(true, net);
            }
        } else {
            self.unread = self.unread_each;
            self.delay_ack(net);
            self.on_read(true, net);
        }
    }

    /// What [`Self::send_ack`] does after a [plain](Self::is_plain) segment.
    #[inline]
    fn send_plain_ack(&mut self, net: &mut Network) {
        let window = self.buffer.advertise_at_rest(self.rcv_nxt);
        let flags = flags::ACK | self.echo.take_flags();
        let p = Packet { flags, ..self.ack_packet(self.rcv_nxt, window, net.now()) };
        self.counters.acks_sent += 1;
        self.note_ack();
        net.send_back(p);
    }

    /// Looks whether the next segments may be [plain](Self::is_plain), after one with codepoint `ecn`.
    pub(super) fn settle(&mut self, ecn: Ecn) {
        self.steady_until = 0;
        if !self.ooo.is_empty() || !self.sacks.is_empty() || self.dsack.is_some() {
            return;
        }
        let silent = self.compressed == 0 && !self.now_flag && !self.pushed;
        let roomy = self.buffer.is_measured() && !self.buffer.is_tight(self.unread_each);
        let unmarked = matches!(ecn, Ecn::NotEct | Ecn::Ect0) && self.echo.expects(ecn);
        if silent && roomy && unmarked {
            self.steady = ecn;
            // One short of what the next arrival brings about.
            self.steady_until = self.buffer.window_ends().min(self.layout.end()).saturating_sub(1);
        }
    }
}
