//! Loss of packets: at random, in bursts (Linux 6.12 net/sched/sch_netem.c, `loss_event`, `loss_gilb_ell`), or by bit errors.

use super::random::Share;
use crate::rng::Rng;
use crate::spec::{Chance, LossSpec};

/// A model of losses.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    Random(Share),
    Gilbert(Gilbert),
    BitErrors(BitErrors),
    Regular(Regular),
}

impl Loss {
    /// Make the loss that `spec` describes.
    pub fn new(spec: &LossSpec, rng: Rng) -> Self {
        match *spec {
            LossSpec::Random(share) => Self::Random(Share::new(share, rng)),
            LossSpec::Gilbert { p, r, h, one_minus_k } => {
                Self::Gilbert(Gilbert { rng, is_bad: false, p, r, h, one_minus_k })
            }
            LossSpec::Regular { share } => Self::Regular(Regular { share, sum: u32::MAX / 2 }),
            LossSpec::BitErrors { rate } => Self::BitErrors(BitErrors { rng, rate, known: vec![] }),
        }
    }

    /// True if the next packet, whose frame has `bytes` bytes, is lost.
    pub fn draw(&mut self, bytes: u32) -> bool {
        match self {
            Self::Random(share) => share.draw(),
            Self::Gilbert(chain) => chain.draw(),
            Self::BitErrors(errors) => errors.draw(bytes),
            Self::Regular(regular) => regular.hits(),
        }
    }
}

/// Gilbert and Elliott's chain: the state that a packet finds decides about it, and the state moves on with it.
#[derive(Clone, Debug)]
pub(super) struct Gilbert {
    rng: Rng,
    is_bad: bool,
    p: Chance,
    r: Chance,
    h: Chance,
    one_minus_k: Chance,
}

impl Gilbert {
    fn draw(&mut self) -> bool {
        if self.is_bad {
            self.is_bad = self.rng.u32() >= self.r;
            self.rng.u32() > self.h
        } else {
            self.is_bad = self.rng.u32() < self.p;
            self.rng.u32() < self.one_minus_k
        }
    }
}

/// A share of all, as evenly spaced as can be: a packet is hit when the shares of those since the last one add up to 1.
#[derive(Clone, Debug)]
pub(super) struct Regular {
    share: Chance,
    /// Sum of the shares since the last hit, 2^-32. It begins in the middle.
    sum: u32,
}

impl Regular {
    fn hits(&mut self) -> bool {
        // `Chance::MAX` is always.
        let (sum, hits) = self.sum.overflowing_add(self.share.saturating_add(1));
        self.sum = sum;
        hits || self.share == Chance::MAX
    }
}

/// Errors of bits, each by itself: a frame with one is lost.
#[derive(Clone, Debug)]
pub(super) struct BitErrors {
    rng: Rng,
    rate: f64,
    /// For the sizes of frame that came so far, how likely an error is, in parts of 2^64.
    known: Vec<(u32, u64)>,
}

impl BitErrors {
    fn draw(&mut self, bytes: u32) -> bool {
        let chance = self.chance(bytes);
        self.rng.u64() < chance
    }

    pub(super) fn chance(&mut self, bytes: u32) -> u64 {
        if let Some(&(_, chance)) = self.known.iter().find(|(known, _)| *known == bytes) {
            return chance;
        }
        // 1 - (1 - rate)^bits, without losing the digits of a small rate.
        let chance = -libm::expm1(8.0 * f64::from(bytes) * libm::log1p(-self.rate));
        let chance = (chance * 2.0_f64.powi(64)) as u64;
        self.known.push((bytes, chance));
        chance
    }
}
