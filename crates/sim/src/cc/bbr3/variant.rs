//! Constants and where the two variants differ, beside them:
//!
//! | | draft | google |
//! | --- | --- | --- |
//! | the bandwidth has grown by a quarter | told by the first sample of a round | by any sample |
//! | many losses in STARTUP | 6 gaps in the sequence | 6 ACKs that find losses |
//! | without SACK | any loss in fast recovery ends STARTUP, and any loss is too much | |
//! | bound after these | a BDP | with room for TSO segments |
//! | DRAIN ends | with a BDP in flight, or after three rounds | with a BDP in the network when the next segment leaves |
//! | signals of STARTUP | still count in DRAIN | forgotten |
//! | in flight, in PROBE_BW | after the ACK | before it, less what is delivered until the next segment leaves |
//! | what is meant to be in flight | a BDP | with room for TSO segments |
//! | too much in flight is found | when a segment is deemed lost | then, and by each sample |
//! | CRUISE | | `inflight_lo` at most `inflight_hi` |
//! | a sample over less than the minimum RTT | counts for rounds and for data delivered | does not count |
//! | room for TSO segments | three quanta of 1 ms, at most 64 KB, at least two segments | three of Linux's TSO segments |
//! | least RTT | any sample | not those of ACKs that may be delayed |
//! | aggregation | most of ten rounds | of five to ten, and at most 100 ms |
//! | window before the pipe is full | grows for the first ten segments | up to twice the initial window |
//! | end of fast recovery | the window before it | |
//! | a timeout | | starts to look for a plateau anew, and bounds what is in flight to the window before it |
//! | an undo | goes back to STARTUP, or to REFILL from an UP that ended | |
//! | ACKs that show less than the bandwidth while the application limits | taken like others | skipped if nothing has changed |
//! | ECN | a marked segment counts as a lost one | only with `ecn_low`, see `ecn` |

use crate::cc::bandwidth::UNIT;

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Numerator.
    parts: u32,
    /// Denominator.
    whole: u32,
}

impl Share {
    const fn new(parts: u32, whole: u32) -> Self {
        Self { parts, whole }
    }

    /// So much of `n`, rounded down.
    pub fn of(self, n: u32) -> u32 {
        (u64::from(n) * u64::from(self.parts) / u64::from(self.whole)) as u32
    }

    /// `part` is more of `n` than this.
    pub fn is_exceeded_by(self, part: u32, n: u32) -> bool {
        part > self.of(n)
    }

    /// How much of a run of segments may be lost until losses exceed the share of what is in flight: `before` were in flight and `lost` of these
    /// lost before the run.
    pub fn prefix(self, before: u32, lost: u32) -> u32 {
        let budget = (u64::from(before) * u64::from(self.parts)).div_ceil(u64::from(self.whole));
        let left = budget.saturating_sub(u64::from(lost));
        (left * u64::from(self.whole) / u64::from(self.whole - self.parts)) as u32
    }
}

/// Whose BBR version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Draft,
    Google,
}

impl Variant {
    pub const WORDS: &'static [&'static str] = &["draft", "google"];

    pub fn of(word: &str) -> Self {
        if word == "google" {
            Self::Google
        } else {
            Self::Draft
        }
    }

    pub fn is_google(self) -> bool {
        self == Self::Google
    }

    /// Pacing gain of DRAIN, 256ths: a half, or 1000/2885.
    pub fn drain_gain(self) -> u32 {
        match self {
            Self::Draft => UNIT / 2,
            Self::Google => UNIT * 1000 / 2885,
        }
    }

    /// Pacing gain of DOWN, 256ths: 0.90 or 0.91.
    pub fn down_gain(self) -> u32 {
        match self {
            Self::Draft => UNIT * 90 / 100,
            Self::Google => UNIT * 91 / 100,
        }
    }

    /// More of what is in flight lost is too much: 2 %, which 256ths cut to 5.
    pub fn most_loss(self) -> Share {
        match self {
            Self::Draft => Share::new(2, 100),
            Self::Google => Share::new(5, UNIT),
        }
    }

    /// Share that a reduction leaves at least: 70 %, or the part that the 76/256 of 30 % leave.
    pub fn kept(self) -> Share {
        match self {
            Self::Draft => Share::new(7, 10),
            Self::Google => Share::new(UNIT - UNIT * 30 / 100, UNIT),
        }
    }

    /// Share that is left free for others: 15 %.
    pub fn headroom(self) -> Share {
        match self {
            Self::Draft => Share::new(15, 100),
            Self::Google => Share::new(UNIT * 15 / 100, UNIT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn google_has_256ths_where_the_draft_has_hundredths() {
        let of = |variant: Variant| {
            let gains = (variant.drain_gain(), variant.down_gain());
            (gains, variant.most_loss(), variant.kept(), variant.headroom())
        };
        let draft = ((128, 230), Share::new(2, 100), Share::new(7, 10), Share::new(15, 100));
        assert_eq!(of(Variant::of("draft")), draft);
        assert_eq!(
            of(Variant::of("google")),
            ((88, 232), Share::new(5, 256), Share::new(180, 256), Share::new(38, 256))
        );
    }

    #[test]
    fn the_prefix_is_where_the_losses_cross_the_share() {
        let two_percent = Share::new(2, 100);
        assert!(!two_percent.is_exceeded_by(2, 100) && two_percent.is_exceeded_by(3, 100));
        assert!(!two_percent.is_exceeded_by(2, 149) && two_percent.is_exceeded_by(3, 149));
        // 980 in flight, 10 of these lost: 10 more of 990 are 20 of 990, 2.02 %.
        assert_eq!(two_percent.prefix(980, 10), 10);
        assert_eq!(two_percent.prefix(980, 20), 0, "crossed already");
        assert_eq!(two_percent.prefix(980, 30), 0);
    }
}
