//! RTT estimate and retransmission timeout in ticks (FreeBSD 9.3 sys/netinet/tcp_input.c `tcp_xmit_timer`, tcp_timer.h).
//! The smoothed RTT has 5 fractional bits, the variance 4.
//!
//! Leaves out: samples without timestamps, the estimate of the host cache.

use super::stack::Stack;

const RTT_SHIFT: u32 = 5;
const RTTVAR_SHIFT: u32 = 4;
const DELTA_SHIFT: u32 = 2;
/// Timeout before the first sample, s.
const INITIAL_S: u32 = 3;
/// Largest timeout, s.
const MAX_S: u32 = 64;
/// Factors of the timeout by the number of timeouts in a row.
const BACKOFF: [u64; 13] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 512, 512, 512];
/// The same for a SYN.
const SYN_BACKOFF: [u64; 13] = [1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64, 64, 64];
/// Most timeouts in a row.
pub(super) const MAX_SHIFT: usize = BACKOFF.len() - 1;

/// Smoothed RTT, variance and timeout.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    /// Smoothed RTT times 32, ticks; 0 without an estimate: before the first sample, and from the fourth timeout in a row to the next sample.
    pub srtt: i64,
    /// Variance times 16, ticks.
    rttvar: i64,
    /// Timeout with its backoff, ticks.
    pub rxtcur: u64,
    /// Timeouts in a row.
    pub shift: usize,
    /// Last sample, ms.
    pub last_ms: u32,
    /// Least sample, ms.
    pub low_ms: Option<u32>,
    /// Samples taken.
    pub samples: u32,
    hz: u32,
    min: u64,
    slop: u64,
}

impl RttEstimator {
    pub fn new(stack: &Stack) -> Self {
        let initial = u64::from(INITIAL_S * stack.hz);
        Self {
            srtt: 0,
            rttvar: ((initial << RTTVAR_SHIFT) / 4) as i64,
            rxtcur: initial,
            shift: 0,
            last_ms: 0,
            low_ms: None,
            samples: 0,
            hz: stack.hz,
            min: stack.ticks(stack.rexmit_min_ms),
            slop: stack.ticks(stack.rexmit_slop_ms),
        }
    }

    /// Takes a sample by timestamps, ms; ends the backoff.
    pub fn sample(&mut self, ms: u32) {
        self.last_ms = ms;
        self.samples += 1;
        self.low_ms = Some(self.low_ms.unwrap_or(ms).min(ms));
        let rtt = i64::from(ms) * i64::from(self.hz) / 1000 + 1;
        if self.srtt == 0 {
            self.srtt = rtt << RTT_SHIFT;
            self.rttvar = rtt << (RTTVAR_SHIFT - 1);
        } else {
            let delta = ((rtt - 1) << DELTA_SHIFT) - (self.srtt >> (RTT_SHIFT - DELTA_SHIFT));
            self.srtt = (self.srtt + delta).max(1);
            self.rttvar = (self.rttvar + delta.abs() - (self.rttvar >> (RTTVAR_SHIFT - DELTA_SHIFT))).max(1);
        }
        self.shift = 0;
        self.rxtcur = self.bounded(self.value(), self.min.max(rtt as u64 + 2));
    }

    /// Another timeout; false if there were too many. The estimate is given up after the third in a row: the next sample is taken as it
    /// is, and until then the variance keeps the timeout.
    pub fn back_off(&mut self) -> bool {
        if self.shift == MAX_SHIFT {
            return false;
        }
        self.shift += 1;
        self.rxtcur = self.bounded(self.value() * BACKOFF[self.shift], self.min);
        if self.shift > MAX_SHIFT / 4 {
            self.rttvar += self.srtt >> RTT_SHIFT;
            self.srtt = 0;
        }
        true
    }

    /// Another timeout of a SYN; false if there were too many.
    pub fn back_off_syn(&mut self) -> bool {
        if self.shift == MAX_SHIFT {
            return false;
        }
        self.shift += 1;
        self.rxtcur = self.bounded(u64::from(INITIAL_S * self.hz) * SYN_BACKOFF[self.shift], self.min);
        true
    }

    /// Interval of window probes, ticks; each is longer than the one before.
    pub fn persist(&mut self) -> u64 {
        let value = (((self.srtt >> 2) + self.rttvar) >> 1) as u64 * BACKOFF[self.shift];
        self.shift = (self.shift + 1).min(MAX_SHIFT);
        (value + self.slop).clamp(u64::from(5 * self.hz), u64::from(60 * self.hz))
    }

    /// Half the smoothed RTT, ticks.
    pub fn half(&self) -> u64 {
        (self.srtt >> (RTT_SHIFT + 1)) as u64
    }

    /// Smoothed RTT in whole ticks.
    pub fn srtt_ticks(&self) -> i64 {
        self.srtt >> RTT_SHIFT
    }

    /// Smoothed RTT, ms, if there is an estimate.
    pub fn srtt_ms(&self) -> Option<f64> {
        (self.srtt != 0).then(|| self.srtt as f64 * 1000.0 / f64::from(self.hz << RTT_SHIFT))
    }

    /// Mean deviation of the RTT, ms.
    pub fn rttvar_ms(&self) -> Option<f64> {
        (self.srtt != 0).then(|| self.rttvar as f64 * 1000.0 / f64::from(self.hz << RTTVAR_SHIFT))
    }

    /// Timeout with its backoff, ms.
    pub fn timeout_ms(&self) -> f64 {
        self.rxtcur as f64 * 1000.0 / f64::from(self.hz)
    }

    fn value(&self) -> u64 {
        self.min.max((((self.srtt >> (RTT_SHIFT - DELTA_SHIFT)) + self.rttvar) >> DELTA_SHIFT) as u64)
    }

    fn bounded(&self, value: u64, least: u64) -> u64 {
        (value + self.slop).max(least).min(u64::from(MAX_S * self.hz))
    }
}
