//! A keyed hash of addresses and ports.
//!
//! It differs from Linux's, whose key is random at each boot: only the statistics of collisions can agree.

use crate::packet::{FlowTuple, Packet};
use crate::rng::Rng;

/// A keyed hash of addresses.
#[derive(Clone, Debug)]
pub(super) struct Hasher([u64; 2]);

/// Multiplies to 128 bits and folds: every bit of the result depends on every bit of both factors.
#[inline]
fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    product as u64 ^ (product >> 64) as u64
}

impl Hasher {
    /// A hash whose key comes from `rng`.
    pub fn new(rng: &mut Rng) -> Self {
        Self([rng.u64(), rng.u64()])
    }

    #[inline]
    fn mix(&self, hosts: u64, ports: u64) -> u32 {
        let Self([k0, k1]) = *self;
        (fold(fold(hosts ^ k0, 0x9e37_79b9_7f4a_7c15) ^ ports, k1 | 1) >> 16) as u32
    }

    /// The hash of a 5-tuple.
    #[inline]
    pub fn flow(&self, t: &FlowTuple) -> u32 {
        self.mix(u64::from(t.src) << 32 | u64::from(t.dst), u64::from(t.sport) << 16 | u64::from(t.dport))
    }

    /// The same for a host as source and as destination.
    #[inline]
    pub fn host(&self, address: u32) -> u32 {
        self.mix(u64::from(address), 1 << 32)
    }
}

/// The tuple as a packet carries it: ACKs travel from the data's receiver.
#[inline]
pub(super) fn directed(t: &FlowTuple, p: &Packet) -> FlowTuple {
    if p.is_reverse() {
        FlowTuple { src: t.dst, dst: t.src, sport: t.dport, dport: t.sport, dscp: t.dscp, agreed: t.agreed }
    } else {
        *t
    }
}
