//! Finding out whether the queue that marks is one of classic ECN (RFC 3168), beside which Prague must answer a mark as Reno answers a loss
//! (Briscoe and Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM", arXiv 1911.00710, version 2; constants as in the Linux
//! module, version 0.6).
//!
//! A classic queue is deep, and its depth varies. Each round adds `V lg(v / V0) + D lg(max(d / D0, 1))` to a score, where `v` is the mean
//! deviation of the RTT and `d` the mean queueing delay, both averaged over many rounds. Below 8 the queue counts as one of L4S, from 9 on as
//! classic, and in between as something in between. The logarithms are whole numbers. What they leave is carried to the next round.
//!
//! Leaves out: the term for applications that send less than the window allows, which the module leaves out, too.

/// Most bits of the weight of a new RTT in the mean RTT and in the mean deviation.
const MOST_RTT_BITS: u32 = 18;
/// The factor carried to the first round: 2^0.5, with the bits of the mean deviation.
const FIRST_CARRY: u64 = 741_455;
/// Bits of the fraction of the score.
const BITS: u32 = 24;
const ONE: u64 = 1 << BITS;
/// Each term has a weight of 1/2.
const WEIGHT_SHIFT: u32 = 1;
/// Bits of the fraction of the references in the module.
const REFERENCE_BITS: u32 = 20;
/// `lg(750)` and `lg(2000)`: the references of the deviation and of the queueing delay, us.
const DEVIATION_REFERENCE: u64 = 10_014_683;
const DELAY_REFERENCE: u64 = 11_498_458;
/// The scores from which the queue counts as not certainly one of L4S, and as classic, and the largest.
const L4S: u64 = 8 * ONE;
const CLASSIC: u64 = 9 * ONE;
const LARGEST: u64 = 17 * ONE;

/// The score, and the averages that it is made of.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    /// Bits of the weight of a new RTT in the mean; one more in the deviation.
    bits: u32,
    /// Mean RTT and mean deviation, us times 2 to the bits.
    rtt: u64,
    deviation: u64,
    deviation_carry: u64,
    delay_carry: u64,
    score: u64,
    /// The references, weighted, with the fraction of the score.
    deviation_reference: u64,
    delay_reference: u64,
}

impl Detector {
    /// Make a detector. `misscaled`: the references keep 20 bits where the score has 24, as in the Linux module since its share of marks has 24.
    pub fn new(misscaled: bool) -> Self {
        let shift = if misscaled { 0 } else { BITS - REFERENCE_BITS };
        Self {
            bits: MOST_RTT_BITS,
            rtt: 0,
            deviation: 1 << (MOST_RTT_BITS + 1),
            deviation_carry: FIRST_CARRY,
            delay_carry: FIRST_CARRY >> 1,
            score: 0,
            deviation_reference: DEVIATION_REFERENCE << shift >> WEIGHT_SHIFT,
            delay_reference: DELAY_REFERENCE << shift >> WEIGHT_SHIFT,
        }
    }

    /// The connection begins with this smoothed RTT, us.
    pub fn begin(&mut self, srtt_us: u64) {
        self.rtt = srtt_us << self.bits;
    }

    /// Takes an RTT, us.
    pub fn take_rtt(&mut self, rtt_us: u64) {
        if self.rtt == 0 {
            self.rtt = (rtt_us << self.bits).max(1);
            self.deviation = 2 << self.bits;
            return;
        }
        let mean = self.rtt >> self.bits;
        let deviation = self.deviation >> (self.bits + 1);
        self.rtt = (self.rtt + rtt_us - mean).max(1);
        self.deviation = self.deviation + rtt_us.abs_diff(mean) - deviation;
    }

    /// The window is reduced, from slow start on by `ssthresh`: a larger one has more RTTs a round, each of which weighs less.
    pub fn scale(&mut self, ssthresh: u32) {
        let lg = ssthresh.max(1).ilog2();
        let bits = (lg + lg / 2 + 1).min(MOST_RTT_BITS);
        let scaled = |of: u64| if bits > self.bits { of << (bits - self.bits) } else { of >> (self.bits - bits) };
        (self.rtt, self.deviation) = (scaled(self.rtt), scaled(self.deviation));
        (self.deviation_carry, self.delay_carry) = (scaled(self.deviation_carry), scaled(self.delay_carry));
        self.bits = bits;
    }

    /// A round is over in which marks may have come. `least_us`: the minimum RTT.
    pub fn observe(&mut self, least_us: u64) {
        let mean = self.rtt >> self.bits;
        if mean == 0 || least_us == u64::from(u32::MAX) {
            return;
        }
        // Half of what one deviation of 1 us would be: it takes the bias off the whole logarithm.
        let half = 1 << self.bits;
        let varies = lg_of_product(self.deviation >> (self.bits + 1), &mut self.deviation_carry, half, self.bits + 1);
        let mut rise = varies;
        if mean > least_us {
            let deep = lg_of_product(mean - least_us, &mut self.delay_carry, half / 2, self.bits);
            // A short queue is no sign of L4S.
            rise += deep.saturating_sub(self.delay_reference);
        }
        self.score = (self.score + rise).saturating_sub(self.deviation_reference).min(LARGEST);
    }

    /// How sure it is that the queue is classic: 0 to 1.
    pub fn certainty(&self) -> f64 {
        (self.score.clamp(L4S, CLASSIC) - L4S) as f64 / ONE as f64
    }

    /// The share of marks that a reduction takes at least, 2^-24: 5/8 of the certainty, with which Prague's rate is that of Reno.
    pub fn least_alpha(&self) -> u64 {
        let certainty = self.score.clamp(L4S, CLASSIC) - L4S;
        (certainty >> 1) + (certainty >> 3)
    }
}

/// The whole part of `lg(value)`, weighted, with the fraction of the score. `carry` has what the round before left, times 2 to the `bits`, and gets
/// what this one leaves.
fn lg_of_product(value: u64, carry: &mut u64, half: u64, bits: u32) -> u64 {
    let product = value * *carry + half;
    let lg = product.ilog2().max(bits) - bits;
    *carry = product >> lg;
    u64::from(lg) << (BITS - WEIGHT_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The detector after `rounds` rounds of 40 RTTs, which go up and down between the minimum RTT of 10 ms plus `low` and plus `high` us.
    fn after(rounds: u32, low: u64, high: u64, misscaled: bool) -> Detector {
        let mut detector = Detector::new(misscaled);
        detector.begin(10_000);
        detector.scale(40);
        for _ in 0..rounds {
            for i in 0..40 {
                detector.take_rtt(10_000 + low + (high - low) * i / 39);
            }
            detector.observe(10_000);
        }
        detector
    }

    #[test]
    fn a_deep_queue_that_varies_is_classic() {
        let detector = after(200, 0, 12_000, false);
        assert_eq!(detector.certainty(), 1.0);
        assert_eq!(detector.least_alpha(), (ONE >> 1) + (ONE >> 3));
    }

    #[test]
    fn a_shallow_queue_is_one_of_l4s() {
        let detector = after(200, 0, 1_000, false);
        assert_eq!((detector.score, detector.least_alpha()), (0, 0));
    }

    #[test]
    fn each_round_adds_the_logarithms() {
        // Deviation 3 ms, depth 6 ms: (lg 4 + lg 3) / 2 a round.
        let detector = after(4_000, 0, 12_000, false);
        let (mut a, mut b) = (detector.clone(), detector);
        (a.score, b.score) = (0, 0);
        for _ in 0..4 {
            a.observe(10_000);
        }
        let (mean, deviation) = ((b.rtt >> b.bits) as f64, (b.deviation >> (b.bits + 1)) as f64);
        let expected = 4.0 * 0.5 * ((deviation / 750.0).log2() + ((mean - 10_000.0) / 2_000.0).log2());
        // A whole logarithm is off by at most 1/2 at either end.
        assert!((a.score as f64 / ONE as f64 - expected).abs() < 1.0, "{} {expected}", a.score as f64 / ONE as f64);
    }

    #[test]
    fn the_misscaled_references_take_a_shallow_queue_for_classic() {
        assert_eq!(after(200, 0, 1_000, true).certainty(), 1.0);
    }

    #[test]
    fn averages_keep_their_values_when_their_weights_change() {
        let mut detector = after(50, 0, 12_000, false);
        let means = |d: &Detector| (d.rtt >> d.bits, d.deviation >> (d.bits + 1));
        let before = means(&detector);
        detector.scale(400);
        assert_eq!(means(&detector), before);
        detector.scale(10);
        assert_eq!(means(&detector), before);
    }
}
