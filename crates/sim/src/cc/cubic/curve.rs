//! The arithmetic of CUBIC's curve, which all versions of the module share (Linux 6.12 net/ipv4/tcp_cubic.c `bictcp_update`, `cubic_root`).

/// Time unit of the cubic: 2^-10 s.
pub(super) const TIME_SHIFT: u32 = 10;
/// Fraction bits of the curve: of its scale and of the cube of a time.
pub(super) const CURVE_SHIFT: u32 = 10 + 3 * TIME_SHIFT;

/// Segments from the curve to its plateau. Far from there they wrap, as in the kernel's 64 bits (bictcp_update, tcp_cubic.c:279).
pub(super) fn curve_delta(scale: u64, offset: u64) -> u32 {
    (scale.wrapping_mul(offset.wrapping_mul(offset).wrapping_mul(offset)) >> CURVE_SHIFT) as u32
}

/// Integer cube root: a table for the leading bits, then one Newton-Raphson step (error below 0.2 %).
#[must_use]
pub(super) fn cubic_root(a: u64) -> u32 {
    // (cbrt(x << 18) - 1), refined by hand in Linux for x in 0..=63.
    const V: [u8; 64] = [
        0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176,
        179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224,
        225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
    ];
    let bits = u64::BITS - a.leading_zeros();
    if bits < 7 {
        return (u32::from(V[a as usize]) + 35) >> 6;
    }
    let b = ((bits * 84) >> 8) - 1;
    let shift = (a >> (b * 3)) as usize;
    let x = ((u32::from(V[shift]) + 10) << b) >> 6;
    let x = 2 * u64::from(x) + a / (u64::from(x) * u64::from(x - 1));
    ((x * 341) >> 10) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cube_root_is_close(a in 64u64..(1 << 46)) {
            let exact = (a as f64).cbrt();
            let got = f64::from(cubic_root(a));
            prop_assert!((got - exact).abs() <= 1.0 + exact * 0.003, "{a}: {got} against {exact}");
        }
    }
}
