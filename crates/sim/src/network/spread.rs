//! Ports that delay each connection by a time of its own: packets overtake each other there.

use super::{Network, PORTS};
use crate::fingerprint::PacketEvent;
use crate::packet::Verdict;
use crate::pool::Id;
use crate::port::Kind;

impl Network {
    /// A packet comes to port `i`, at which each connection has a delay of its own.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_spread(&mut self, i: usize, id: Id) -> Verdict {
        let (port, slot, now) = (&mut self.ports[i], &self.shared.packets[id], self.shared.now);
        let Kind::Spread(line) = &mut port.kind else { return self.enter_faulty(i, id) };
        if let Some(shares) = &mut self.shares {
            shares.count(i, &slot.packet);
        }
        port.counters.sent += 1;
        port.counters.sent_bytes += u64::from(slot.bytes());
        self.fingerprint.note(now, Some(i), &slot.packet, PacketEvent::Offered(Verdict::Queued));
        self.fingerprint.note(now, Some(i), &slot.packet, PacketEvent::Left);
        line.push(id, now + port.delay + line.delay(self.routes.rtt(slot.packet.flow())));
        self.events.set(PORTS + 2 * i + 1, line.next());
        Verdict::Queued
    }

    /// The next packet leaves port `i`, at which each connection has a delay of its own.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_spread(&mut self, i: usize) {
        let Kind::Spread(line) = &mut self.ports[i].kind else { unreachable!("a pipe with an event holds a packet") };
        let id = line.pop().expect("a line with an event holds a packet");
        let next = line.next();
        self.next_in_pipe = next;
        self.events.set(PORTS + 2 * i + 1, next);
        self.come_out(i, id);
    }
}
