//! The tin that each codepoint belongs to, and the rate on which each tin has first claim (Linux 6.12 net/sched/sch_cake.c,
//! `cake_config_besteffort`, `cake_config_precedence`, `cake_config_diffserv8`, `cake_config_diffserv4`, `cake_config_diffserv3`).

use crate::spec::CakeDiffserv;

/// Codepoints.
pub(super) const CODEPOINTS: usize = 64;

/// A kind of tins.
pub(super) struct Scheme {
    /// The tin of each codepoint.
    pub tins: [u8; CODEPOINTS],
    /// Share of each tin in the rate and in a round.
    shares: Shares,
    /// Bytes that the whole rate gets a round where no rate tells when a tin's turn is.
    quantum: u64,
    /// The tins as tc lists them, with tc's names.
    pub listed: &'static [(usize, &'static str)],
}

/// The parts of the rate on which tins have first claim.
enum Shares {
    /// Halves of halves: shifts.
    Shifts(&'static [u32]),
    /// This many tins, each with 7/8 of the rate of the one before.
    Eighths(usize),
}

impl Scheme {
    /// Tins.
    pub fn count(&self) -> usize {
        match self.shares {
            Shares::Shifts(shifts) => shifts.len(),
            Shares::Eighths(tins) => tins,
        }
    }

    /// Return the part of the rate that a tin has first claim on, byte/s.
    pub fn rate(&self, tin: usize, rate: u64) -> u64 {
        match self.shares {
            Shares::Shifts(shifts) => rate >> shifts[tin],
            Shares::Eighths(_) => (0..tin).fold(rate, |rate, _| (rate * 7) >> 3),
        }
    }

    /// Return the quantum of a tin, bytes a round.
    pub fn quantum(&self, tin: usize) -> i32 {
        self.rate(tin, self.quantum).max(1) as i32
    }
}

/// One tin.
static BESTEFFORT: Scheme =
    Scheme { tins: [0; CODEPOINTS], shares: Shares::Shifts(&[0]), quantum: 65_535, listed: &[(0, "tin0")] };
/// Best effort, low priority (LE, CS1), latency sensitive (CS7, CS6, VA, EF, TOS4).
static DIFFSERV3: Scheme = Scheme {
    tins: table(0, &[&[], &[1, 8], &[4, 44, 46, 48, 56]]),
    shares: Shares::Shifts(&[0, 4, 2]),
    quantum: 1024,
    listed: &[(1, "bulk"), (0, "best_effort"), (2, "voice")],
};
/// Best effort, background (LE, CS1), media (AF4x, AF3x, CS3, AF2x, TOS4, CS2), latency sensitive (CS7, CS6, EF, VA, CS5, CS4).
static DIFFSERV4: Scheme = Scheme {
    tins: table(0, &[&[], &[1, 8], &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38], &[32, 40, 44, 46, 48, 56]]),
    shares: Shares::Shifts(&[0, 4, 1, 2]),
    quantum: 1024,
    listed: &[(1, "bulk"), (0, "best_effort"), (2, "video"), (3, "voice")],
};
/// Background (LE), high throughput (AF1x, TOS2, CS1), best effort, video (AF4x, AF3x, CS3), low latency (AF2x, TOS4), interactive shell
/// (CS2), least latency (EF, VA, CS5, CS4), network control (CS6, CS7).
static DIFFSERV8: Scheme = Scheme {
    tins: table(
        2,
        &[
            &[1],
            &[2, 8, 10, 12, 14],
            &[],
            &[24, 26, 28, 30, 34, 36, 38],
            &[4, 18, 20, 22],
            &[16],
            &[32, 40, 44, 46],
            &[48, 56],
        ],
    ),
    shares: Shares::Eighths(8),
    quantum: 256,
    listed: NUMBERED,
};
/// A tin for each value of the three high bits.
static PRECEDENCE: Scheme = Scheme { tins: precedence(), shares: Shares::Eighths(8), quantum: 256, listed: NUMBERED };

const NUMBERED: &[(usize, &str)] =
    &[(0, "tin0"), (1, "tin1"), (2, "tin2"), (3, "tin3"), (4, "tin4"), (5, "tin5"), (6, "tin6"), (7, "tin7")];

/// Return the tin of each codepoint: the listed codepoints are in tin 0, 1, 2 ..., the others in `default`.
const fn table(default: u8, lists: &[&[u8]]) -> [u8; CODEPOINTS] {
    let mut tins = [default; CODEPOINTS];
    let mut tin = 0;
    while tin < lists.len() {
        let mut i = 0;
        while i < lists[tin].len() {
            tins[lists[tin][i] as usize] = tin as u8;
            i += 1;
        }
        tin += 1;
    }
    tins
}

const fn precedence() -> [u8; CODEPOINTS] {
    let mut tins = [0; CODEPOINTS];
    let mut i = 0;
    while i < CODEPOINTS {
        tins[i] = (i / 8) as u8;
        i += 1;
    }
    tins
}

impl CakeDiffserv {
    pub(super) fn scheme(self) -> &'static Scheme {
        match self {
            Self::Besteffort => &BESTEFFORT,
            Self::Diffserv3 => &DIFFSERV3,
            Self::Diffserv4 => &DIFFSERV4,
            Self::Diffserv8 => &DIFFSERV8,
            Self::Precedence => &PRECEDENCE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DIFFSERV4, DIFFSERV8, PRECEDENCE};

    /// The kernel's tables, as they stand there.
    #[rustfmt::skip]
    const OF_DIFFSERV8: [u8; 64] = [
        2, 0, 1, 2, 4, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2,
        5, 2, 4, 2, 4, 2, 4, 2, 3, 2, 3, 2, 3, 2, 3, 2,
        6, 2, 3, 2, 3, 2, 3, 2, 6, 2, 2, 2, 6, 2, 6, 2,
        7, 2, 2, 2, 2, 2, 2, 2, 7, 2, 2, 2, 2, 2, 2, 2,
    ];
    #[rustfmt::skip]
    const OF_DIFFSERV4: [u8; 64] = [
        0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0,
        3, 0, 2, 0, 2, 0, 2, 0, 3, 0, 0, 0, 3, 0, 3, 0,
        3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn codepoints_are_in_the_tins_of_the_kernels_tables() {
        assert_eq!(DIFFSERV8.tins, OF_DIFFSERV8);
        assert_eq!(DIFFSERV4.tins, OF_DIFFSERV4);
        assert_eq!([0, 7, 8, 46, 56, 63].map(|dscp| PRECEDENCE.tins[dscp]), [0, 0, 1, 5, 7, 7]);
    }

    #[test]
    fn each_of_eight_tins_has_seven_eighths_of_the_one_before() {
        // 12.5 MB/s: multiplied by 7 and shifted by 3, one time after the other.
        let rates: Vec<u64> = (0..8).map(|tin| DIFFSERV8.rate(tin, 12_500_000)).collect();
        assert_eq!(rates, [12_500_000, 10_937_500, 9_570_312, 8_374_023, 7_327_270, 6_411_361, 5_609_940, 4_908_697]);
        let quanta: Vec<i32> = (0..8).map(|tin| DIFFSERV8.quantum(tin)).collect();
        assert_eq!(quanta, [256, 224, 196, 171, 149, 130, 113, 98]);
        assert_eq!([0, 1, 2, 3].map(|tin| DIFFSERV4.quantum(tin)), [1024, 64, 512, 256]);
    }
}
