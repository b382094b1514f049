//! The packets under way in the network, and their number for each flow.

use super::Network;
use crate::packet::Packet;
use crate::port::media::Medium;

impl Network {
    /// Packets inside the network by flow: data and ACKs.
    #[must_use]
    pub fn inside(&self) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.routes.flows()];
        self.for_each_inside(|p| {
            let count = &mut counts[p.flow()];
            if p.is_reverse() {
                count.1 += 1;
            } else {
                count.0 += 1;
            }
        });
        counts
    }

    /// Every packet under way.
    pub fn for_each_inside(&self, mut look: impl FnMut(&Packet)) {
        for port in &self.ports {
            port.pipe.iter(&self.shared.packets).for_each(&mut look);
            port.chosen.held.iter(&self.shared.packets).for_each(&mut look);
            port.medium.for_each(&self.shared.packets, &mut look);
        }
        self.arrivals.iter(&self.shared.packets).for_each(&mut look);
    }
}
