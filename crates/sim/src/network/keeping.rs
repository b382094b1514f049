//! Ports whose media keep packets themselves, because they may come out in another order than that in which they came.

use super::{Network, PORTS};
use crate::fingerprint::PacketEvent;
use crate::packet::Verdict;
use crate::pool::Id;
use crate::port::media::{Fate, Medium};

impl Network {
    /// The medium of port `i` has taken a packet, and perhaps made a copy of it.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self, i: usize, id: Id, copy: Option<(Id, Fate)>, original: Fate) -> Verdict {
        if let Some((id, fate)) = copy {
            let p = &self.shared.packets[id].packet;
            let copies = &mut self.drops[p.flow()];
            *(if p.is_reverse() { &mut copies.ack_copies } else { &mut copies.data_copies }) += 1;
            self.meet(i, id, fate);
        }
        let verdict = self.meet(i, id, original);
        let next = self.ports[i].medium.next(&self.shared.packets);
        self.events.set(PORTS + 2 * i + 1, next);
        verdict
    }

    /// Does what the medium of port `i` has decided about a packet.
    fn meet(&mut self, i: usize, id: Id, fate: Fate) -> Verdict {
        let (now, slot) = (self.shared.now, &self.shared.packets[id]);
        match fate {
            Fate::Refused => return self.refuse(i, id),
            Fate::Lost => {
                self.ports[i].counters.first_drop.get_or_insert(now);
                self.note(i, id, PacketEvent::Lost);
                self.record_drop(i, id, None);
                self.forget(id);
            }
            Fate::Passes | Fate::Stays => {
                if let Some(shares) = &mut self.shares {
                    shares.count(i, &slot.packet);
                }
                let counters = &mut self.ports[i].counters;
                counters.sent += 1;
                counters.sent_bytes += u64::from(slot.bytes());
                self.note(i, id, PacketEvent::Offered(Verdict::Queued));
                self.note(i, id, PacketEvent::Left);
                if fate == Fate::Passes {
                    self.come_out(i, id);
                }
            }
        }
        Verdict::Queued
    }

    /// The next packet comes out of the medium of port `i`.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_medium(&mut self, i: usize) {
        let (medium, packets) = (&mut self.ports[i].medium, &self.shared.packets);
        let id = medium.pop(packets).expect("a medium with an event holds a packet");
        let next = medium.next(packets);
        self.next_in_pipe = next;
        self.events.set(PORTS + 2 * i + 1, next);
        self.come_out(i, id);
    }

    /// A packet comes out of port `i`, whose packets may leave in another order than that in which they came.
    fn come_out(&mut self, i: usize, id: Id) {
        if let Some(tap) = &mut self.tap {
            let now = self.shared.now;
            tap.leaves(i, false, &self.shared.packets[id].packet, now, Some(now));
        }
        self.pass_on(i, id);
    }
}
