//! exp(-x) in integers, as CDG draws by it (Linux 6.12 net/ipv4/tcp_cdg.c, `nexp_u32`).

/// exp(-x) as 16 bits less 1: for 0, and for 0.000256 times 2^i.
const EXP: [u16; 17] =
    [65535, 65518, 65501, 65468, 65401, 65267, 65001, 64470, 63422, 61378, 57484, 50423, 38795, 22965, 8047, 987, 14];

/// 2^32 exp(-x), x in millionths.
pub(super) fn exp_of_minus(x: u32) -> u32 {
    let mut bits = x >> 8;
    if bits > u32::from(u16::MAX) {
        return 0;
    }
    let mut result = u32::MAX - (x & 0xff) * (u32::MAX / 1_000_000);
    let mut i = 1;
    while bits > 0 {
        let factor = if bits & 1 == 1 { u64::from(EXP[i]) + 1 } else { 1 << 16 };
        result = ((u64::from(result) * factor) >> 16) as u32;
        (bits, i) = (bits >> 1, i + 1);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_exact_to_four_decimals_and_ends_at_16_8() {
        for (i, entry) in EXP.iter().enumerate().skip(1) {
            let exact = (-0.000_256 * f64::from(1 << (i - 1))).exp() * 65_536.0 - 1.0;
            assert!((f64::from(*entry) - exact).abs() < 1.0, "{i}: {entry} {exact}");
        }
        for x in [0, 1, 255, 256, 10_000, 123_456, 1_000_000, 5_000_000, (1 << 24) - 1] {
            let exact = (-f64::from(x) / 1e6).exp();
            assert!((f64::from(exp_of_minus(x)) / 2f64.powi(32) - exact).abs() < 1e-4, "{x}");
        }
        assert_eq!((exp_of_minus(1 << 24), exp_of_minus(u32::MAX)), (0, 0));
    }
}
