//! Parts that the versions of BBR share (Linux 6.12 net/ipv4/tcp_bbr.c, in the kernel's units, widths and order of operations): bandwidths and rates, and how
//! much data they mean.
//!
//! - `filter`: the windowed maximum of the bandwidth
//! - `aggregation`: room for ACKs that come in bursts

pub(super) mod aggregation;
pub(super) mod filter;

use super::View;

/// Bandwidth: segments a microsecond, shifted by so many bits.
pub(super) const BW_SHIFT: u32 = 24;
pub(super) const BW_UNIT: u64 = 1 << BW_SHIFT;
/// Gains: 256ths.
pub(super) const UNIT: u32 = 256;
/// Paced below the bandwidth by so much, per cent.
const MARGIN_PERCENT: u64 = 1;
/// A TSO segment carries 1/1024 s at the pacing rate (`sk_pacing_shift`), 64 KiB less headers at most (GSO_LEGACY_MAX_SIZE, MAX_TCP_HEADER of a
/// kernel without tunnels and WLAN).
pub(super) const PACING_SHIFT: u32 = 10;
pub(super) const MOST_TSO_BYTES: u64 = 65_536 - 1 - 192;
/// The window has room for what ACKs aggregate in so long, us.
const MOST_AGGREGATION_US: u64 = 100_000;
/// Initial window that the kernel counts on (TCP_INIT_CWND), segments.
pub(super) const INITIAL_CWND: u32 = 10;

/// Bytes a second of a bandwidth times a gain, less the margin, in the kernel's order of operations (64 bits).
pub(super) fn rate_bytes_per_sec(v: &View, bw: u32, gain: u32) -> u64 {
    let rate = (u64::from(bw) * u64::from(v.mss)).wrapping_mul(u64::from(gain)) >> 8;
    rate.wrapping_mul(1_000_000 / 100 * (100 - MARGIN_PERCENT)) >> BW_SHIFT
}

/// Bits a second of a bandwidth, payload of full segments, as `bbr_get_info` tells bytes.
pub(super) fn bits_per_sec(v: &View, bw: u32) -> f64 {
    ((u64::from(bw) * u64::from(v.mss)).wrapping_mul(1_000_000) >> BW_SHIFT) as f64 * 8.0
}

/// The bandwidth of a window a round trip. A handshake of which it is not known how long it took is taken for one of a millisecond.
pub(super) fn initial_bw(v: &View, cwnd: u32) -> u32 {
    let rtt_us = if v.srtt_us8 == 0 { 1000 } else { u64::from(v.srtt_us8 >> 3).max(1) };
    (u64::from(cwnd) * BW_UNIT / rtt_us) as u32
}

/// Bandwidth times delay times `gain`, rounded up, segments; the initial window without a delay.
pub(super) fn bdp(bw: u32, min_rtt_us: u32, gain: u32) -> u32 {
    if min_rtt_us == u32::MAX {
        return INITIAL_CWND;
    }
    let w = (u64::from(bw) * u64::from(min_rtt_us)).wrapping_mul(u64::from(gain)) >> 8;
    (w.wrapping_add(BW_UNIT - 1) / BW_UNIT) as u32
}

/// Segments that are delivered at the bandwidth until the next segment leaves.
pub(super) fn delivered_until_departure(v: &View, bw: u32) -> u32 {
    let us = v.departure_ns.saturating_sub(v.mstamp_us * 1000) / 1000;
    ((u64::from(bw) * us) >> BW_SHIFT) as u32
}

/// The most that the window is raised for aggregated ACKs at the bandwidth, segments.
pub(super) fn most_aggregation(bw: u32) -> u32 {
    (u64::from(bw) * MOST_AGGREGATION_US / BW_UNIT) as u32
}

/// `a` is after `b`, in 32 bits that wrap.
pub(super) fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}
