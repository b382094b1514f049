//! The windows that one end advertises, by tcptrace's rules. Once both SYNs have offered a scale, earlier values are dropped, and the mean
//! is over all packets of the direction from there on, with those that advertise nothing. Otherwise the mean is over all its packets.
//! Packets with RST advertise nothing. A shift count above 14 counts as 14 (RFC 7323, section 2.3); in tcptrace it does not.

use crate::packet::{flags, Packet};

/// The maximum shift count.
const MOST_SCALE: u8 = 14;

/// The windows of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The maximum, bytes.
    pub max: u64,
    /// The minimum that is not zero, bytes.
    pub min: u64,
    /// ACKs that advertise none.
    pub zero: u64,
    /// The latest, bytes.
    pub latest: u64,
    /// The shift count that the end's SYN offers.
    pub offered: Option<u8>,
    sum: u64,
    /// Packets since windows are scaled; None before.
    scaled: Option<u64>,
}

impl Windows {
    /// The window that a packet of this end advertises, bytes.
    pub fn of(&self, p: &Packet, other: &Self) -> u64 {
        let window = u64::from(p.window);
        match (self.offered, other.offered) {
            (Some(scale), Some(_)) if !p.has(flags::SYN) => window << scale.min(MOST_SCALE),
            _ if p.has(flags::ACK | flags::SYN) => window,
            _ => 0,
        }
    }

    /// Count a packet of this end, with or without a window.
    pub fn count(&mut self) {
        if let Some(packets) = &mut self.scaled {
            *packets += 1;
        }
    }

    /// Takes in a packet of this end that is no reset, after `count`, and its window. `scaling`: both ends have offered to scale.
    pub fn add(&mut self, p: &Packet, window: u64, scaling: bool) {
        self.latest = window;
        if !p.has(flags::ACK | flags::SYN) {
            return;
        }
        self.max = self.max.max(window);
        if window > 0 && scaling && !p.has(flags::SYN) && self.scaled.is_none() {
            (self.scaled, self.min, self.max, self.sum) = (Some(1), window, window, 0);
        } else if window > 0 && (self.min == 0 || window < self.min) {
            self.min = window;
        }
        self.sum += window;
        self.zero += u64::from(p.has(flags::ACK) && window == 0);
    }

    /// The mean over the packets, bytes, rounded down; `scaling`: of both ends windows are scaled.
    #[must_use]
    pub fn mean(&self, packets: u64, scaling: bool) -> u64 {
        let over = if scaling { self.scaled.unwrap_or(0) } else { packets };
        self.sum.checked_div(over).unwrap_or(0)
    }

    /// True once a scaled window was advertised.
    #[must_use]
    pub fn is_scaled(&self) -> bool {
        self.scaled.is_some()
    }
}
