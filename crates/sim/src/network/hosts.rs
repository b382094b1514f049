//! Packets that have left the hosts' own queues. An event at the time of leaving tells the hosts' TCP. All else that happens at that time
//! comes first, as in Linux, where a tasklet writes once the softirq that freed the packets is over.

use super::Network;
use crate::attachment::Attachment;
use crate::outbox::{End, HostQueue, Outbox};
use crate::packet::{Direction, Packet, Verdict};
use crate::pool::Id;
use crate::time::{Time, NEVER};

/// A packet that has left its host, or was dropped there.
pub type Released = (Packet, Attachment);

/// The packets that have left their hosts and have not been told of.
#[derive(Debug)]
pub(super) struct Releases {
    packets: Vec<Released>,
    /// The event that tells of them.
    source: usize,
}

impl Releases {
    pub(super) fn new(source: usize) -> Self {
        Self { packets: vec![], source }
    }
}

impl Network {
    /// Set the ports that are on hosts. The event `source` reports the packets that leave them.
    pub fn put_on_hosts(&mut self, ports: impl Iterator<Item = usize>, source: usize) {
        ports.for_each(|port| self.ports[port].put_on_host());
        self.releases = Some(Box::new(Releases::new(source)));
    }

    /// A packet that port `i` had taken leaves it, sent on or dropped: if the port is its host's own, TCP has to hear of it.
    #[cold]
    pub(super) fn note_release(&mut self, i: usize, id: Id) {
        let p = self.shared.packets[id].packet;
        let on_its_host = self.routes.is_own_queue(&p);
        let Some(releases) = self.releases.as_mut().filter(|_| self.ports[i].is_on_host() && on_its_host) else {
            return;
        };
        let p = self.shared.headers.at_host(p, &self.shared.tuples[p.flow()]);
        releases.packets.push((p, self.shared.attachments.get(p.attachment)));
        self.events.set(releases.source, self.shared.now);
    }

    /// The queue that a flow's packets of a direction pass first, if it is of the host that they come from and its transport wants to know of
    /// it.
    pub fn host_queue(&self, flow: usize, direction: Direction) -> HostQueue {
        let on_host = self.routes.has_egress(flow, direction);
        match self.routes.first(flow, direction).filter(|_| on_host) {
            None => HostQueue::None,
            Some(port) if self.ports[port].orphans() => HostQueue::Orphans,
            Some(_) => HostQueue::Charges,
        }
    }

    /// The host's own queue of a flow's data holds packets until they may leave.
    pub fn paces(&self, flow: usize) -> bool {
        self.routes.has_egress(flow, Direction::Forward)
            && self.routes.first(flow, Direction::Forward).is_some_and(|port| self.ports[port].paces())
    }

    /// Sends a packet that is not to leave its host before `departure`.
    pub(super) fn send_paced(&mut self, from: End, p: Packet, departure: Time) -> Verdict {
        self.shared.departure = departure;
        let verdict = self.send(from, p);
        self.shared.departure = 0;
        verdict
    }

    /// Takes the packets that have left their hosts, in order.
    pub fn take_released(&mut self) -> Vec<Released> {
        let Some(releases) = &mut self.releases else { return vec![] };
        self.events.set(releases.source, NEVER);
        std::mem::take(&mut releases.packets)
    }
}
