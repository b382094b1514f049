//! tc's translation of RED's keywords (iproute2 6.1 tc/q_red.c, tc/tc_red.c, tc/tc_core.c).
//!
//! The table of idle damping counts the time of a packet in the kernel's ticks of 64 ns, while the kernel looks it up by microseconds. So
//! an average falls 16 times more slowly than intended, in Linux and here.

use crate::refusal::Flaws;
use crate::spec::RedSpec;

/// Ticks of the packet scheduler in a microsecond.
const TICKS_PER_US: f64 = 15.625;

/// Table of the shifts of the average after an idle time.
#[derive(Clone, Debug)]
pub(super) struct IdleDamping {
    /// Microseconds of a cell are 2^cell_log.
    pub cell_log: u32,
    /// Shifts by cells of idle time.
    pub shifts: Box<[u8; 256]>,
}

/// Return log2 of the reciprocal weight of an arrival: the minimum for which `burst` packets pass before the average is at `min`. The
/// thresholds must fit 32 bits together with as many fraction bits.
pub(super) fn weight(spec: &RedSpec) -> Result<u32, Flaws> {
    let RedSpec { min_bytes: min, max_bytes: max, avpkt_bytes: avpkt, burst_packets: burst, .. } = *spec;
    let mut flaws = Flaws::default();
    flaws.at_least("max_bytes", max, "bytes", min.saturating_add(1));
    flaws.at_most("avpkt_bytes", avpkt, "bytes", min);
    flaws.at_least("burst_packets", burst, "packets", min.div_ceil(avpkt));
    flaws.done()?;
    let beyond = burst as f64 + 1.0 - min as f64 / avpkt as f64;
    let wlog = (1..32)
        .find(|&wlog| {
            let weight = 1.0 / f64::from(1_u32 << wlog);
            beyond <= (1.0 - power(1.0 - weight, burst)) / weight
        })
        .ok_or_else(|| Flaws::one("burst_packets", format_args!("{burst} packets"), "a shorter burst"))?;
    let most = (1_u64 << (31 - wlog)) - 1;
    if max > most {
        let what = format_args!("{max} bytes with a burst of {burst} packets");
        flaws.add("max_bytes", what, format_args!("at most {most}"));
    }
    flaws.done()?;
    Ok(wlog)
}

/// `x` to the `n`, by multiplications alone: the same on every machine.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            product *= x;
        }
        x *= x;
        n >>= 1;
    }
    product
}

/// The probability of a signal at `max`, units of 2^-32. Certainty does not fit; the kernel then falls back on a power of two.
pub(super) fn probability(spec: &RedSpec) -> u32 {
    if spec.max_p < 1 << 32 {
        return spec.max_p as u32;
    }
    let delta = spec.max_bytes.saturating_sub(spec.min_bytes) as u32;
    let plog = 32 - delta.leading_zeros();
    (u32::MAX >> plog) * delta
}

/// The weight of an arrival and the table of idle damping.
pub(super) fn filter(spec: &RedSpec) -> Result<(u32, IdleDamping), Flaws> {
    let wlog = weight(spec)?;
    Ok((wlog, idle_damping(spec, wlog)?))
}

/// Return the table of idle damping for a link of the spec's rate.
pub(super) fn idle_damping(spec: &RedSpec, wlog: u32) -> Result<IdleDamping, Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_least("bandwidth_bps", spec.bandwidth_bps, "bit/s", 8);
    flaws.done()?;
    let rate = (spec.bandwidth_bps / 8) as f64;
    let us = (1e6 * (spec.avpkt_bytes as f64 / rate)).floor();
    let ticks = (us * TICKS_PER_US).floor();
    let mut shifts = Box::new([0; 256]);
    shifts[255] = 31;
    if ticks == 0.0 {
        // A quotient by 0, which tc on x86-64 stores as 0.
        return Ok(IdleDamping { cell_log: 0, shifts });
    }
    let by_us = minus_log_of_rest(wlog) / ticks;
    let longest = 31.0 / by_us;
    let cell_log = (0..32)
        .find(|&log| longest / f64::from(1_u32 << log) < 512.0)
        .ok_or_else(|| Flaws::one("bandwidth_bps", format_args!("{} bit/s", spec.bandwidth_bps), "a faster line"))?;
    for (i, shift) in (0_u64..).zip(shifts.iter_mut()).take(255) {
        *shift = (((i << cell_log) as f64 * by_us) as u8).min(31);
    }
    Ok(IdleDamping { cell_log, shifts })
}

/// -ln(1 - 2^-wlog), by its series.
fn minus_log_of_rest(wlog: u32) -> f64 {
    let x = 1.0 / f64::from(1_u32 << wlog);
    (1..=64).rev().map(|k| power(x, k) / k as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::super::tests::SPEC;
    use super::{idle_damping, minus_log_of_rest, probability, weight};
    use crate::refusal::Flaws;
    use crate::spec::RedSpec;

    #[test]
    fn the_weight_lets_a_burst_pass() {
        // The table at the head of red.h, for min of 32 packets: a burst must be less than its.
        for (burst, wlog) in [(33, 1), (35, 2), (39, 3), (46, 4), (57, 5), (75, 6), (101, 7), (135, 8), (190, 9)] {
            let burst_packets = burst - 1;
            let spec = RedSpec { avpkt_bytes: 1000, min_bytes: 32_000, max_bytes: 96_000, burst_packets, ..SPEC };
            assert_eq!(weight(&spec), Ok(wlog), "{burst}");
        }
    }

    #[test]
    fn refusals_name_the_parameter() {
        let spec = RedSpec { avpkt_bytes: 1000, min_bytes: 32_000, max_bytes: 96_000, burst_packets: 31, ..SPEC };
        let refused = |spec| weight(&spec).unwrap_err();
        assert_eq!(refused(spec), Flaws::one("burst_packets", "31 packets", "at least 32"));
        let spec = RedSpec { burst_packets: 56, ..spec };
        assert_eq!(refused(RedSpec { min_bytes: 500, ..spec }).fields(), ["avpkt_bytes"]);
        assert_eq!(refused(RedSpec { max_bytes: 32_000, ..spec }).fields(), ["max_bytes"]);
        assert_eq!(refused(RedSpec { burst_packets: 1 << 40, ..spec }).fields(), ["burst_packets"]);
        let fits = |max_bytes| weight(&RedSpec { max_bytes, ..spec });
        let what = "67108864 bytes with a burst of 56 packets";
        assert_eq!(fits(1 << 26), Err(Flaws::one("max_bytes", what, "at most 67108863")));
        assert_eq!(fits((1 << 26) - 1), Ok(5));
        for (bandwidth_bps, wlog) in [(7, 5), (8, 31)] {
            let damping = idle_damping(&RedSpec { bandwidth_bps, ..spec }, wlog);
            assert_eq!(damping.unwrap_err().fields(), ["bandwidth_bps"]);
        }
    }

    #[test]
    fn certainty_becomes_a_power_of_two() {
        let spec = RedSpec { min_bytes: 32_000, max_bytes: 132_000, max_p: 1 << 32, ..SPEC };
        assert_eq!(probability(&spec), 100_000 * ((1 << 15) - 1));
        assert_eq!(probability(&RedSpec { max_p: 85_899_345, ..spec }), 85_899_345);
    }

    #[test]
    fn the_logarithm() {
        for (wlog, expected) in
            [(1, std::f64::consts::LN_2), (2, 0.287_682_072_451_780_9), (9, 0.001_955_034_835_803_35)]
        {
            assert!((minus_log_of_rest(wlog) - expected).abs() < 1e-15, "{wlog}");
        }
    }

    #[test]
    fn the_table_halves_the_average_in_the_time_of_many_packets() {
        // 1000 bytes at 10 Mbit/s are 800 us, 12500 ticks; weight 1/32: 0.03175 a packet.
        let spec = RedSpec { avpkt_bytes: 1000, bandwidth_bps: 10_000_000, ..SPEC };
        let damping = idle_damping(&spec, 5).unwrap();
        let by_us = 0.031_748_698_314_580_3 / 12_500.0;
        assert_eq!(damping.cell_log, 15);
        for (i, &shift) in damping.shifts.iter().enumerate().take(255) {
            assert_eq!(u32::from(shift), ((i as f64 * 32_768.0 * by_us) as u32).min(31), "{i}");
        }
        assert_eq!((damping.shifts[0], damping.shifts[255]), (0, 31));
        // A packet in less than a microsecond.
        let fast = idle_damping(&RedSpec { bandwidth_bps: 100_000_000_000, ..spec }, 5).unwrap();
        assert_eq!((fast.cell_log, fast.shifts[100], fast.shifts[255]), (0, 0, 31));
    }
}
