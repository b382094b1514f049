//! Ports that lose, duplicate, corrupt and reorder packets.

use super::{Network, PORTS};
use crate::fingerprint::PacketEvent;
use crate::packet::{DropCause, Packet, Verdict};
use crate::pool::Id;
use crate::port::{Faults, Kind};
use crate::time::Time;

impl Network {
    /// A packet comes to port `i`, which has faults.
    #[inline(never)]
    pub(super) fn enter_faulty(&mut self, i: usize, id: Id) -> Verdict {
        let twice = self.faults(i).duplicates();
        self.pass_faults(i, id, twice)
    }

    /// Apply all faults but duplication to a packet or its copy.
    fn pass_faults(&mut self, i: usize, id: Id, twice: bool) -> Verdict {
        let (now, bytes) = (self.shared.now, self.shared.packets[id].bytes());
        let lost = self.faults(i).loses(bytes);
        if lost && !twice {
            self.lose(i, id);
            return Verdict::Queued;
        }
        // The copy is of the packet as it came; if one of the two is lost, the other is all that there is.
        let original = (twice && !lost).then(|| self.shared.packets[id].packet);
        if self.faults(i).corrupts() {
            self.faults(i).counts.corrupted += 1;
            self.shared.packets[id].packet.corrupt();
        }
        if self.faults(i).is_full() {
            let offered = PacketEvent::Offered(Verdict::Dropped);
            self.fingerprint.note(now, Some(i), &self.shared.packets[id].packet, offered);
            self.shared.dropped.push((id, DropCause::Overflow));
            self.count_drops(i, Some(id));
            return Verdict::Dropped;
        }
        if let Some(original) = original {
            let copy = self.copy(i, original);
            self.pass_faults(i, copy, false);
        }
        let slot = &self.shared.packets[id];
        self.fingerprint.note(now, Some(i), &slot.packet, PacketEvent::Offered(Verdict::Queued));
        self.fingerprint.note(now, Some(i), &slot.packet, PacketEvent::Left);
        let port = &mut self.ports[i];
        if let Some(shares) = &mut self.shares {
            shares.count(i, &slot.packet);
        }
        port.counters.sent += 1;
        port.counters.sent_bytes += u64::from(bytes);
        match self.faults(i).due(now, bytes) {
            Some(due) => self.delay_until(i, id, due),
            None => self.come_out(i, id),
        }
        Verdict::Queued
    }

    /// A packet is lost.
    fn lose(&mut self, i: usize, id: Id) {
        let now = self.shared.now;
        self.faults(i).counts.lost += 1;
        self.ports[i].counters.first_drop.get_or_insert(now);
        self.fingerprint.note(now, Some(i), &self.shared.packets[id].packet, PacketEvent::Lost);
        self.forget(id);
    }

    /// Makes a copy of a packet.
    fn copy(&mut self, i: usize, mut packet: Packet) -> Id {
        self.faults(i).counts.duplicated += 1;
        let copies = &mut self.drops[packet.flow()];
        *(if packet.is_reverse() { &mut copies.ack_copies } else { &mut copies.data_copies }) += 1;
        self.shared.attachments.copy(&mut packet);
        self.shared.packets.put(packet)
    }

    /// A packet leaves port `i` when it is due, which may be now.
    fn delay_until(&mut self, i: usize, id: Id, due: Time) {
        let Kind::Faulty(link) = &mut self.ports[i].kind else { unreachable!("a link with faults") };
        if due == self.shared.now && link.next(&self.shared.packets) > due {
            return self.come_out(i, id);
        }
        link.push(id, due, &mut self.shared.packets);
        self.events.set(PORTS + 2 * i + 1, link.next(&self.shared.packets));
    }

    /// The next packet leaves port `i`, which has faults.
    #[inline(never)]
    pub(super) fn leave_faulty(&mut self, i: usize) {
        let Kind::Faulty(link) = &mut self.ports[i].kind else { return self.leave_spread(i) };
        let id = link.pop(&self.shared.packets).expect("a link with an event holds a packet");
        let next = link.next(&self.shared.packets);
        self.next_in_pipe = next;
        self.events.set(PORTS + 2 * i + 1, next);
        self.come_out(i, id);
    }

    /// A packet comes out of port `i`, whose packets may leave in another order than that in which they came.
    pub(super) fn come_out(&mut self, i: usize, id: Id) {
        if let Some(tap) = &mut self.tap {
            let now = self.shared.now;
            tap.leaves(i, false, &self.shared.packets[id].packet, now, Some(now));
        }
        self.pass_on(i, id);
    }

    fn faults(&mut self, i: usize) -> &mut Faults {
        let Kind::Faulty(link) = &mut self.ports[i].kind else { unreachable!("a link with faults") };
        link
    }
}
