//! Sending (FreeBSD 9.3 sys/netinet/tcp_output.c `tcp_output`).
//!
//! Leaves out: Nagle for short writes (the application writes ahead), probes of one byte (a whole segment probes a closed window).

use super::sender::{Phase, Sender};
use crate::outbox::{End, Outbox};
use crate::packet::{Verdict, MSS};
use crate::segment::Segment;
use crate::tcp::common::lazy_timer::Ticks;

const SEG: i64 = MSS as i64;

/// The next thing to send.
enum Next {
    /// A segment out of a hole; more may follow.
    Retransmission,
    /// The segment at `snd_nxt`, and whether more may follow.
    Data {
        more: bool,
    },
    Nothing,
}

impl Sender {
    /// Sends what windows and holes allow; `force`: at least a probe of the receiver's window.
    pub(super) fn output(&mut self, out: &mut impl Outbox, mut force: bool) {
        if self.phase != Phase::Established {
            return;
        }
        if self.snd_max == self.snd_una && self.clock.tick(out.now()) - self.rcv_tick >= self.rtt.rxtcur {
            self.window.after_idle();
        }
        loop {
            if self.going_back() {
                self.snd_nxt = self.holes.adjust(self.snd_nxt);
            }
            let more = match self.next() {
                Next::Retransmission => self.send_retransmission(out),
                Next::Data { more } => self.send_data(out) && more,
                Next::Nothing if force && self.buffer.held(self.snd_una) > 0 => {
                    self.probe(out);
                    false
                }
                Next::Nothing if self.ack_now => {
                    self.ack_now = false;
                    let mut p = self.empty_packet(out.now());
                    self.ecn.mark(&mut p, false);
                    self.counters.sent += 1;
                    out.send(End::Sender, p);
                    false
                }
                Next::Nothing => return self.keep_a_timer(out),
            };
            if !more {
                return;
            }
            force = false;
        }
    }

    /// True if the timer must run although nothing was sent.
    fn keep_a_timer(&mut self, out: &mut impl Outbox) {
        if self.timer.is_set() {
            return;
        }
        if self.snd_max > self.snd_una {
            self.set_retransmit(out);
        } else if self.buffer.held(self.snd_una) > 0 {
            self.rtt.shift = 0;
            self.set_persist(out);
        }
    }

    fn next(&mut self) -> Next {
        let send_window = self.snd_wnd.min(self.window.cwnd) as i64;
        let mut again = 0;
        if self.window.fast_recovery {
            again = i64::from(self.holes.retransmitted) * SEG;
            let recover = self.snd_recover;
            if let Some(hole) = self.holes.next() {
                // Segments beyond `recover` wait for the next recovery.
                if hole.rxmit < recover && send_window - again >= SEG {
                    return Next::Retransmission;
                }
            }
        }
        let held = self.buffer.held(self.snd_una) as i64;
        let offset = self.layout.span(self.snd_una, self.snd_nxt) as i64;
        let mut len = held.min(send_window) - offset;
        if again > 0 {
            let new = i64::from(self.snd_nxt) - i64::from(self.sack_newdata);
            len = (held.min(self.snd_wnd as i64) - offset).min(self.window.cwnd as i64 - new * SEG - again);
        }
        self.grow_buffer(held, send_window, offset);
        let ends = self.buffer.complete() && offset + len == held;
        let whole = i64::from(self.layout.payload(self.snd_nxt));
        if len >= whole || (len > 0 && ends) {
            Next::Data { more: len > whole }
        } else {
            Next::Nothing
        }
    }

    /// The buffer grows while it, and not a window, holds back the sender.
    fn grow_buffer(&mut self, held: i64, send_window: i64, offset: i64) {
        let size = self.buffer.size.bytes;
        if self.buffer.size.auto()
            && self.snd_wnd / 4 * 5 >= size
            && held as u64 >= size / 8 * 7
            && send_window >= held - offset
        {
            self.buffer.size.grow();
        }
    }

    /// Sends the next segment of a hole; false after a local drop.
    fn send_retransmission(&mut self, out: &mut impl Outbox) -> bool {
        let Some(hole) = self.holes.next() else { unreachable!("there was a hole") };
        let seq = hole.rxmit;
        hole.rxmit += 1;
        self.holes.retransmitted += 1;
        let mut p = self.data_packet(seq, out.now());
        self.ecn.mark(&mut p, self.snd_nxt >= self.snd_max);
        self.tell_of_segment(&p);
        self.counters.retransmits += 1;
        self.start_timer(out, true);
        let sent = self.transmit(p, out);
        if !sent {
            if let Some(hole) = self.holes.at(seq) {
                hole.rxmit = seq;
                self.holes.retransmitted -= 1;
            }
        }
        sent
    }

    /// Sends the segment at `snd_nxt`; false after a local drop.
    fn send_data(&mut self, out: &mut impl Outbox) -> bool {
        let mut p = self.data_packet(self.snd_nxt, out.now());
        self.ecn.mark(&mut p, self.snd_nxt >= self.snd_max);
        self.tell_of_segment(&p);
        self.counters.retransmits += u64::from(self.going_back());
        self.snd_nxt += 1;
        self.snd_max = self.snd_max.max(self.snd_nxt);
        self.start_timer(out, false);
        let sent = self.transmit(p, out);
        if !sent {
            self.snd_nxt -= 1;
        }
        sent
    }

    /// Sends the first segment whatever the window; `snd_nxt` stays.
    fn probe(&mut self, out: &mut impl Outbox) {
        let mut p = self.data_packet(self.snd_una, out.now());
        self.ecn.mark(&mut p, false);
        self.tell_of_segment(&p);
        self.counters.retransmits += u64::from(self.snd_una < self.snd_max);
        self.snd_max = self.snd_max.max(self.snd_una + 1);
        self.transmit(p, out);
    }

    fn start_timer(&mut self, out: &mut impl Outbox, retransmission: bool) {
        let outstanding = (retransmission && self.snd_nxt != self.snd_max) || self.snd_nxt != self.snd_una;
        if !self.retransmit_pending() && outstanding {
            if self.persist_pending() {
                self.rtt.shift = 0;
            }
            self.set_retransmit(out);
        }
    }

    /// Puts a packet on its way; false if the local queue dropped it, which leaves a window of one segment.
    fn transmit(&mut self, p: Segment, out: &mut impl Outbox) -> bool {
        self.counters.sent += 1;
        if out.send(End::Sender, p) == Verdict::Dropped {
            if !self.timer.is_set() {
                self.set_retransmit(out);
            }
            self.window.cwnd = SEG as u64;
            return false;
        }
        self.ack_now = false;
        true
    }
}
