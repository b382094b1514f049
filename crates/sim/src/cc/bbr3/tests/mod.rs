//! The state machine step by step, against the draft's pseudocode and its list of test cases, and google/bbr where that differs.

mod cycle;
mod ecn;
mod losses;
mod phases;

use super::*;
use crate::cc::{DeliveryRate, Growth};

const BOTH: [Variant; 2] = [Variant::Draft, Variant::Google];

/// A connection over 40 ms with a window of 10. A window of a whole round is delivered by one ACK.
struct Lab {
    bbr: Bbr3,
    v: View,
    w: Window,
}

impl Lab {
    fn new(variant: Variant) -> Self {
        Self::over(40_000, variant, false)
    }

    fn over(rtt_us: u32, variant: Variant, ecn_low: bool) -> Self {
        let mut v = View::new(1000, Growth::Segments, false);
        (v.delivered, v.srtt_us8, v.min_rtt_us, v.mstamp_us, v.jiffies) = (1, 8 * rtt_us, rtt_us, 1_000_000, 1000);
        (v.seed, v.snd_una, v.snd_nxt) = ([1, 2], 1, 1);
        let mut lab = Self { bbr: Bbr3::of(variant, ecn_low), v, w: Window::new(10, 1000) };
        lab.bbr.init(&lab.v, &mut lab.w);
        lab
    }

    /// An ACK `after_us` later for `acked` segments, the last of which was sent when `prior` were delivered, over an RTT.
    fn sample(&mut self, after_us: u64, acked: u32, prior: u32) -> RateSample {
        self.v.mstamp_us += after_us;
        self.v.jiffies = (self.v.mstamp_us / 1000) as u32;
        (self.v.delivered, self.v.delivered_us) = (self.v.delivered + acked, self.v.mstamp_us);
        let rtt_us = i64::from(self.v.min_rtt_us);
        let rate = DeliveryRate {
            interval_us: rtt_us,
            delivered: (self.v.delivered - prior) as i32,
            prior_delivered: prior,
            tx_in_flight: self.v.packets_out,
            ..DeliveryRate::default()
        };
        let prior_in_flight = self.v.in_flight();
        RateSample { rtt_us, delivered: acked, acked, rate, prior_in_flight, ..RateSample::default() }
    }

    fn take(&mut self, s: &RateSample) -> Mode {
        self.bbr.cong_control(&self.v, &mut self.w, s);
        self.bbr.mode
    }

    /// A round in which so many segments are delivered.
    fn round(&mut self, delivered: u32) -> Mode {
        let prior = self.v.delivered;
        let rtt_us = u64::from(self.v.min_rtt_us);
        let s = self.sample(rtt_us, delivered, prior);
        self.take(&s)
    }

    fn rounds(&mut self, sizes: &[u32]) {
        for &size in sizes {
            self.round(size);
        }
    }

    /// A round of `size` segments in as many ACKs, each of which shows the whole bandwidth.
    fn fine_round(&mut self, size: u32) -> Mode {
        let prior = self.v.delivered;
        for _ in 0..size {
            let mut s = self.sample(u64::from(self.v.min_rtt_us / size), 1, prior);
            s.rate.delivered = size as i32;
            self.take(&s);
        }
        self.bbr.mode
    }

    /// Rounds of so many segments until the pipe is full, with twice as many in flight.
    fn fill_pipe(&mut self, size: u32) {
        self.v.packets_out = 2 * size;
        let left = (0..20).find(|_| self.round(size) != Mode::Startup);
        assert!(left.is_some(), "the pipe is not full after 20 rounds");
        assert_eq!(self.bbr.mode, Mode::Drain);
    }

    /// In CRUISE, with a BDP of `size` segments, half of which is in flight.
    fn cruise(&mut self, size: u32) {
        self.fill_pipe(size);
        self.v.packets_out = size / 2;
        assert_eq!(self.round(size), Mode::Cruise, "by DOWN, which has nothing to drain");
    }

    /// In UP, with a BDP of `size` segments.
    fn up(&mut self, size: u32) {
        self.cruise(size);
        let waited = (0..100).find(|_| self.round(size) == Mode::Refill);
        assert!(waited.is_some(), "CRUISE does not end");
        assert_eq!(self.round(size), Mode::Up);
        // The round that ends shows what was sent before.
        assert!(self.bbr.probe.samples);
    }

    /// A segment that was sent with so many in flight is lost, with it so many since.
    fn lose(&mut self, seq: u32, tx_in_flight: u32, lost: i32) {
        self.v.lost += 1;
        self.bbr.on_lost(&self.v, &mut self.w, &Lost { seq, tx_in_flight, lost, is_app_limited: false });
    }

    fn enter(&mut self, state: CaState) {
        self.bbr.on_event(&self.v, &mut self.w, Event::State(state));
        self.v.state = state;
    }
}

/// Bandwidth of so many segments in 40 ms. Rounded up, so that a BDP is a segment more.
fn bw(segments: u64) -> u32 {
    (segments * BW_UNIT).div_ceil(40_000) as u32
}
