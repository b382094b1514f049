//! A fingerprint of everything that happens to packets, to show that a change of the code changed no result.
//!
//! It hashes facts (time, port, flow, sequence number, header bits, the fate of the packet) and not the layout of their storage, so that it
//! outlives names and schemas. A connection that was made during the run has a number of its own, wherever it lies. Without the feature
//! `fingerprint` it has no state and no cost.

#[cfg(any(test, feature = "fingerprint"))]
use crate::packet::BODY_BITS;
use crate::packet::{DropCause, Packet, Verdict};
#[cfg(any(test, feature = "fingerprint"))]
use crate::segment::flags;
use crate::time::Time;

/// An event in the life of a packet.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum PacketEvent {
    /// Offered to a port.
    Offered(Verdict) = 1,
    /// Left the shaper of a port.
    Left = 2,
    /// Left the shaper of a port, and was lost in an outage.
    Lost = 3,
    /// Dropped by a port.
    Dropped(DropCause) = 4,
    /// Reached its end.
    Arrived = 5,
}

/// The port of an event at an end.
#[cfg(any(test, feature = "fingerprint"))]
const NO_PORT: usize = usize::MAX;

/// Hash of the events so far, in order.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint {
    #[cfg(any(test, feature = "fingerprint"))]
    hash: u64,
    /// Numbers of the flows from the first that was made in the run; others have their index for a number.
    #[cfg(any(test, feature = "fingerprint"))]
    numbers: std::collections::HashMap<usize, u64>,
}

/// The header bits without the ECN field, in the places where the hash has always had them: a reset was bit 12, a washed codepoint bit 10.
/// The flow tells the kind. The hash leaves the ECN flags of a SYN out, because the codepoints of later packets show if it offers ECN.
#[cfg(any(test, feature = "fingerprint"))]
fn bits(p: &Packet) -> u64 {
    let has = |bit| p.flags & bit != 0;
    let unhashed = if has(flags::SYN) { flags::ECN_SETUP } else { 0 };
    let of_body = p.flags & BODY_BITS & !(unhashed | flags::RST);
    let later = [(has(flags::RST), 12), (p.is_corrupt(), 11), (p.is_washed(), 10), (p.is_reverse(), 0)];
    later.iter().fold(u64::from(of_body), |bits, &(is_set, place)| bits | u64::from(is_set) << place)
}

impl Fingerprint {
    /// True if there is a fingerprint: only then the facts to note have to be looked up.
    pub const IS_TAKEN: bool = cfg!(any(test, feature = "fingerprint"));

    /// Note an event of `p` at port `port`.
    #[cfg(any(test, feature = "fingerprint"))]
    pub fn note(&mut self, now: Time, port: Option<usize>, p: &Packet, what: PacketEvent) {
        let outcome = match what {
            PacketEvent::Offered(verdict) => verdict as u64,
            PacketEvent::Dropped(cause) => cause as u64,
            PacketEvent::Left | PacketEvent::Lost | PacketEvent::Arrived => 0,
        };
        let kind = match what {
            PacketEvent::Offered(_) => 1,
            PacketEvent::Left => 2,
            PacketEvent::Lost => 3,
            PacketEvent::Dropped(_) => 4,
            PacketEvent::Arrived => 5,
        };
        for value in [
            now,
            port.unwrap_or(NO_PORT) as u64,
            self.number(p.flow()),
            u64::from(p.body.0[0]),
            bits(p),
            u64::from(p.ecn().bits()),
            u64::from(p.len),
            kind << 8 | outcome,
        ] {
            self.add(value);
        }
    }

    /// Note an event of `p` at port `port`.
    #[cfg(not(any(test, feature = "fingerprint")))]
    #[inline(always)]
    pub fn note(&mut self, _now: Time, _port: Option<usize>, _p: &Packet, _what: PacketEvent) {}

    #[cfg(any(test, feature = "fingerprint"))]
    fn number(&self, flow: usize) -> u64 {
        self.numbers.get(&flow).copied().unwrap_or(flow as u64)
    }

    /// The flow with this index is one that was made in the run, and has this number.
    #[cfg(any(test, feature = "fingerprint"))]
    pub fn renumber(&mut self, flow: usize, number: u64) {
        self.numbers.insert(flow, number);
    }

    /// The flow with this index is one that was made in the run, and has this number.
    #[cfg(not(any(test, feature = "fingerprint")))]
    pub fn renumber(&mut self, _flow: usize, _number: u64) {}

    /// Adds a number.
    #[cfg(any(test, feature = "fingerprint"))]
    pub fn add(&mut self, value: u64) {
        // The step of FNV-1a over whole words, with a turn, so that high bits reach low ones.
        self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// The hash.
    #[cfg(any(test, feature = "fingerprint"))]
    #[must_use]
    pub fn value(&self) -> u64 {
        self.hash
    }
}
