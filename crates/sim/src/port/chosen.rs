//! Packets that leave a port and are chosen to be lost or to be late, for experiments in which it matters which packets are.

use crate::pool::Queue;

/// The packets that are chosen.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Packets that are still to be lost, one in `every`, and how many have passed since the last one.
    losses: u64,
    every: u64,
    passed: u64,
    /// Packets that are still to be set aside.
    holds: u64,
    /// Packets that are set aside, in order.
    pub held: Queue,
}

impl Chosen {
    /// So many packets are lost from now on, one in `every`, the next one first.
    pub fn lose(&mut self, packets: u64, every: u64) {
        (self.losses, self.every, self.passed) = (packets, every, every - 1);
    }

    /// The next packets are set aside, so many at most.
    pub fn hold(&mut self, packets: u64) {
        self.holds = packets;
    }

    /// True if the packet that leaves is lost.
    pub fn loses(&mut self) -> bool {
        if self.losses == 0 {
            return false;
        }
        self.passed += 1;
        let is_lost = self.passed >= self.every;
        if is_lost {
            (self.losses, self.passed) = (self.losses - 1, 0);
        }
        is_lost
    }

    /// True if the packet that leaves is set aside.
    pub fn holds(&mut self) -> bool {
        let holds = self.holds > 0;
        self.holds -= u64::from(holds);
        holds
    }

    /// Returns the packets that are set aside; no others are.
    pub fn release(&mut self) -> Queue {
        self.holds = 0;
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_in_so_many_is_lost_until_all_are() {
        let mut chosen = Chosen::default();
        chosen.lose(3, 4);
        let lost: Vec<usize> = (0..20).filter(|_| chosen.loses()).collect();
        assert_eq!(lost, [0, 4, 8]);
        assert!(!chosen.holds());
    }

    #[test]
    fn the_next_packets_are_set_aside_until_the_release() {
        let mut chosen = Chosen::default();
        chosen.hold(2);
        assert_eq!([chosen.holds(), chosen.holds(), chosen.holds()], [true, true, false]);
        chosen.hold(u64::MAX);
        chosen.release();
        assert!(!chosen.holds());
    }
}
