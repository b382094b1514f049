//! Writing by skbs: the application's data go into the last skb, then into new ones, and each that is full leaves if it can (Linux 6.12
//! net/ipv4/tcp.c `tcp_sendmsg_locked`, `tcp_push`, `tcp_xmit_size_goal`; net/ipv4/tcp_output.c `tcp_push_one`).
//!
//! Only of a transfer on a host with TSO.
//!
//! Leaves out: autocorking.

use crate::outbox::Outbox;
use crate::tcp::linux::sender::output::transmit::Push;
use crate::tcp::linux::sender::output::tso::MAX_TSO_BYTES;
use crate::tcp::linux::sender::Sender;

impl Sender {
    /// The application writes until there is no room; returns how many segments went.
    pub(in crate::tcp::linux::sender) fn send_messages(&mut self, out: &mut impl Outbox) -> u32 {
        let mut sent = 0;
        self.buffer.begin_to_write();
        while !self.buffer.is_complete() && self.send_message(&mut sent, out) {}
        sent
    }

    /// The application writes once; true if anything was taken.
    fn send_message(&mut self, sent: &mut u32, out: &mut impl Outbox) -> bool {
        let goal = self.size_goal();
        let mut left = if self.skbs.written() == 0 && self.layout.ends_first_write(1) {
            u64::from(self.layout.payload(1))
        } else {
            self.layout.total() - self.skbs.written()
        };
        let mut begins = true;
        while left > 0 {
            let mut room = self.skbs.tail_len().map_or(0, |len| goal.saturating_sub(len));
            if room == 0 {
                let charged = self.charged_for_skbs();
                if self.buffer.is_full(charged) {
                    self.buffer.wait_for_room();
                    if !begins {
                        *sent += self.push(true, out);
                    }
                    break;
                }
                self.restart_after_idle();
                self.skbs.entail();
                room = goal;
            }
            let bytes = left.min(room);
            self.skbs.append(bytes, begins);
            self.note_written();
            (begins, left) = (false, left - bytes);
            if left == 0 {
                break;
            }
            if self.skbs.is_push_due(u64::from(self.peer.most_bytes() / 2)) {
                *sent += self.push(true, out);
            } else if self.skbs.head_is_tail() {
                *sent += self.transmit_written(Push::One, true, out);
            }
        }
        if !begins {
            *sent += self.push(self.nodelay, out);
            // While it sent there may have come more room. Whoever finds none waits all the same.
            self.buffer.wait_for_room();
        }
        !begins
    }

    /// The last skb has the PSH bit, and what the windows allow goes; `nagle_off`: a short one, too.
    fn push(&mut self, nagle_off: bool, out: &mut impl Outbox) -> u32 {
        self.skbs.push();
        self.transmit_written(Push::Pending, nagle_off, out)
    }

    fn transmit_written(&mut self, push: Push, nagle_off: bool, out: &mut impl Outbox) -> u32 {
        let before = std::mem::replace(&mut self.stream.is_pushed, nagle_off);
        let sent = self.write_for(out, push);
        self.stream.is_pushed = before;
        sent
    }

    /// Payload of a full skb, bytes.
    fn size_goal(&self) -> u64 {
        let mss = self.mss_now();
        u64::from((MAX_TSO_BYTES.min(self.peer.most_at_once()) / mss).max(1) * mss)
    }

    /// Return the memory that the send buffer is charged for all unacknowledged data, bytes (`sk_wmem_queued`).
    pub(in crate::tcp::linux::sender) fn charged_for_skbs(&mut self) -> u64 {
        let una = self.view.snd_una;
        self.skbs.forget(una);
        self.skbs.written() - self.layout.before(una) + self.skbs.count() * self.buffer.head()
    }

    /// The written bytes, or the segments in which they lie, are others.
    pub(in crate::tcp::linux::sender) fn note_written(&mut self) {
        let written = self.skbs.written();
        let is_all = self.close.is_requested() || written == self.layout.total();
        let segments = if is_all {
            self.layout.end()
        } else {
            self.layout.find(written.saturating_sub(1)) + u32::from(written > 0)
        };
        self.buffer.note_written(segments, !is_all);
    }

    /// An skb was sent: the buffer may grow, unless that filled the congestion window (`tcp_event_new_data_sent`, `tcp_check_space`).
    pub(in crate::tcp::linux::sender) fn check_growth(&mut self) {
        if self.buffer.waits_for_room() && self.view.in_flight() < self.window.cwnd {
            self.buffer.grow(self.window.cwnd, self.reordering.degree());
        }
    }
}
