//! What tc makes of RED's keywords (iproute2 6.1 tc/q_red.c, tc/tc_red.c, tc/tc_core.c).
//!
//! The table of idle damping counts the time of a packet in the kernel's ticks of 64 ns, while the kernel looks it up by
//! microseconds: an average falls 16 times as slowly as was meant. So it is in Linux, and here.

use crate::spec::RedSpec;

/// Ticks of the packet scheduler in a microsecond.
const TICKS_PER_US: f64 = 15.625;

/// By how much an idle time shifts the average.
#[derive(Clone, Debug)]
pub(super) struct IdleDamping {
    /// Microseconds of a cell are 2^cell_log.
    pub cell_log: u32,
    /// By cells of idle time.
    pub shifts: Box<[u8; 256]>,
}

/// log2 of the reciprocal weight of an arrival: the least for which `burst` packets pass before the average is at `min`. The
/// thresholds must fit 32 bits together with as many fraction bits.
pub(super) fn weight(spec: &RedSpec) -> Result<u32, String> {
    let RedSpec { min_bytes: min, max_bytes: max, avpkt_bytes: avpkt, burst_packets: burst, .. } = *spec;
    if min == 0 || max <= min {
        return Err(format!("red: max of {max} bytes is not above min of {min}; expected 0 < min < max"));
    }
    if avpkt == 0 || avpkt > min {
        return Err(format!("red: avpkt of {avpkt} bytes is not up to min; expected 1 to {min}"));
    }
    if burst * avpkt < min {
        return Err(format!(
            "red: burst of {burst} packets does not reach min; expected at least {}",
            min.div_ceil(avpkt)
        ));
    }
    let beyond = burst as f64 + 1.0 - min as f64 / avpkt as f64;
    let wlog = (1..32)
        .find(|&wlog| {
            let weight = 1.0 / f64::from(1_u32 << wlog);
            beyond <= (1.0 - power(1.0 - weight, burst)) / weight
        })
        .ok_or_else(|| format!("red: burst of {burst} packets is too long; expected less"))?;
    let most = (1_u64 << (31 - wlog)) - 1;
    if max > most {
        return Err(format!(
            "red: max of {max} bytes is too much for a burst of {burst} packets; expected at most {most}"
        ));
    }
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
pub(super) fn probability(spec: &RedSpec) -> Result<u32, String> {
    let certain = 1_u64 << 32;
    if spec.max_p == 0 || spec.max_p > certain {
        return Err(format!("red: max_p must be 1 to {certain}, not {}", spec.max_p));
    }
    if spec.max_p < certain {
        return Ok(spec.max_p as u32);
    }
    let delta = (spec.max_bytes - spec.min_bytes) as u32;
    let plog = 32 - delta.leading_zeros();
    Ok((u32::MAX >> plog) * delta)
}

/// The table of idle damping for a line of the spec's rate.
pub(super) fn idle_damping(spec: &RedSpec, wlog: u32) -> Result<IdleDamping, String> {
    if spec.bandwidth_bps < 8 {
        return Err(format!("red: bandwidth_bps must be at least 8, not {}", spec.bandwidth_bps));
    }
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
        .ok_or_else(|| format!("red: avpkt of {} bytes takes too long; expected a faster line", spec.avpkt_bytes))?;
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
        assert!(weight(&spec).unwrap_err().contains("expected at least 32"));
        assert!(weight(&RedSpec { avpkt_bytes: 0, ..spec }).unwrap_err().contains("avpkt"));
        assert!(weight(&RedSpec { min_bytes: 500, ..spec }).unwrap_err().contains("avpkt"));
        assert!(weight(&RedSpec { max_bytes: 32_000, ..spec }).unwrap_err().contains("not above min"));
        let fits = |max_bytes| weight(&RedSpec { max_bytes, burst_packets: 56, ..spec });
        assert!(fits(1 << 26).unwrap_err().contains("at most 67108863"));
        assert_eq!(fits((1 << 26) - 1), Ok(5));
        assert!(probability(&RedSpec { max_p: 0, ..spec }).unwrap_err().contains("max_p"));
        assert!(idle_damping(&RedSpec { bandwidth_bps: 7, ..spec }, 5).unwrap_err().contains("bandwidth"));
    }

    #[test]
    fn certainty_becomes_a_power_of_two() {
        let spec = RedSpec { min_bytes: 32_000, max_bytes: 132_000, max_p: 1 << 32, ..SPEC };
        assert_eq!(probability(&spec), Ok(100_000 * ((1 << 15) - 1)));
        assert_eq!(probability(&RedSpec { max_p: 85_899_345, ..spec }), Ok(85_899_345));
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
