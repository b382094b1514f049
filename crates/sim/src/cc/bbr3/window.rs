//! Pacing rate and window.

use super::variant::Variant;
use super::{Ack, Bbr3, Mode, MIN_CWND, NONE};
use crate::cc::bandwidth::aggregation::{Aggregation, Epoch, ROUNDS};
use crate::cc::bandwidth::filter::WindowedMax;
use crate::cc::bandwidth::{
    bdp, delivered_until_departure, most_aggregation, rate_bytes_per_sec, MOST_TSO_BYTES, PACING_SHIFT, UNIT,
};
use crate::cc::{RateSample, View, Window};

/// Bytes that short paths add to TSO segments (`bbr_tso_rtt_shift`, GSO_LEGACY_MAX_SIZE), halved for each step of the minimum RTT; and the minimum.
const TSO_RTT_SHIFT: u32 = 9;
const TSO_SHORT_PATH: u64 = 65_536;
const LEAST_TSO_SEGMENTS: u32 = 2;
/// The draft's send quantum lasts 1 ms, and has so many bytes at most; and the window has room for so many quanta.
const QUANTA_PER_SEC: u64 = 1000;
const MOST_QUANTUM: u64 = 64 * 1024;
const QUANTA: u32 = 3;
/// Rounds of the draft's aggregation.
const AGGREGATION_ROUNDS: u32 = 10;

/// Room for aggregated ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extra {
    /// Google's, in two halves.
    halves: Aggregation,
    /// The draft's, of ten rounds.
    epoch: Epoch,
    most: WindowedMax,
    init_cwnd: u32,
}

impl Extra {
    pub fn begin(&mut self, v: &View, cwnd: u32) {
        let (halves, epoch) = (Aggregation::new(v.mstamp_us), Epoch::new(v.mstamp_us));
        // 7 bits.
        *self = Self { halves, epoch, init_cwnd: cwnd.min(0x7f), ..Self::default() };
    }

    /// After a pause there is nothing to compare with.
    pub fn begin_epoch(&mut self, v: &View) {
        self.halves.begin_epoch(v.mstamp_us);
        self.epoch = Epoch::new(v.mstamp_us);
    }
}

impl Bbr3 {
    pub(super) fn rate(v: &View, bw: u32, gain: u32) -> u64 {
        rate_bytes_per_sec(v, bw, gain).max(1)
    }

    pub(super) fn bdp(&self, bw: u32, gain: u32) -> u32 {
        if self.min_rtt.us() == u32::MAX {
            return self.extra.init_cwnd;
        }
        bdp(bw, self.min_rtt.us(), gain)
    }

    /// The draft's offload budget: three send quanta of 1 ms at the pacing rate, each of 64 KB at most and of two segments at least, segments.
    fn offload_budget(&self, v: &View, w: &Window) -> u32 {
        if self.variant.is_google() {
            return QUANTA * self.tso_goal(v, w);
        }
        let mss = u64::from(v.mss);
        let quantum = (w.pacing_rate / QUANTA_PER_SEC).min(MOST_QUANTUM).max(u64::from(LEAST_TSO_SEGMENTS) * mss);
        (u64::from(QUANTA) * quantum / mss) as u32
    }

    /// TSO segment at the pacing rate, segments.
    fn tso_goal(&self, v: &View, w: &Window) -> u32 {
        let halvings = self.min_rtt.us() >> TSO_RTT_SHIFT;
        let short = if halvings < u32::BITS { TSO_SHORT_PATH >> halvings } else { 0 };
        let bytes = ((w.pacing_rate >> PACING_SHIFT) + short).min(MOST_TSO_BYTES);
        ((bytes / u64::from(v.mss)) as u32).max(LEAST_TSO_SEGMENTS)
    }

    /// With room for TSO segments in both hosts.
    fn with_budget(&self, v: &View, w: &Window, cwnd: u32) -> u32 {
        let cwnd = cwnd.max(self.offload_budget(v, w)).max(MIN_CWND);
        cwnd + if self.mode == Mode::Up { 2 } else { 0 }
    }

    /// Segments that should be in flight at a bandwidth times a gain.
    pub(super) fn inflight(&self, v: &View, w: &Window, bw: u32, gain: u32) -> u32 {
        self.with_budget(v, w, self.bdp(bw, gain))
    }

    /// Segments in the network when the next segment leaves, `in_flight` being the segments now.
    pub(super) fn in_network(&self, v: &View, w: &Window, in_flight: u32) -> u32 {
        let more = if self.pacing_gain > UNIT { self.tso_goal(v, w) } else { 0 };
        (in_flight + more).saturating_sub(delivered_until_departure(v, self.bw()))
    }

    pub(super) fn update_extra(&mut self, v: &View, w: &Window, a: &Ack) {
        if self.variant.is_google() && (!a.shows_rate() || a.s.rate.delivered < 0) {
            return;
        }
        let (bw, acked, now_us) = (self.bw(), a.s.delivered, v.delivered_us);
        if self.variant == Variant::Google {
            let rounds = if self.full.was { ROUNDS } else { 1 };
            self.extra.halves.update(self.round.start, rounds, acked, bw, now_us, w.cwnd);
        } else {
            let rounds = if self.full.was { AGGREGATION_ROUNDS } else { 1 };
            let extra = self.extra.epoch.extra(acked, bw, now_us, w.cwnd);
            self.extra.most.update(rounds, self.round.count, extra);
        }
    }

    pub(super) fn extra_acked(&self) -> u32 {
        match self.variant {
            Variant::Google => self.extra.halves.extra().min(most_aggregation(self.bw())),
            Variant::Draft => self.extra.most.get(),
        }
    }

    pub(super) fn set_pacing_rate(&self, v: &View, w: &mut Window, gain: u32) {
        let rate = Self::rate(v, self.bw(), gain);
        if self.full.was || rate > w.pacing_rate {
            w.pacing_rate = rate;
        }
    }

    pub(super) fn set_cwnd(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        if s.delivered > 0 {
            let target = self.with_budget(v, w, self.bdp(self.bw(), self.cwnd_gain) + self.extra_acked());
            let is_early = match self.variant {
                Variant::Google => w.cwnd < 2 * self.extra.init_cwnd,
                Variant::Draft => v.delivered < self.extra.init_cwnd,
            };
            if self.full.was {
                self.at_target = w.cwnd + s.delivered >= target;
                w.cwnd = (w.cwnd + s.delivered).min(target);
            } else {
                self.at_target = w.cwnd >= target && !is_early;
                w.cwnd += if self.at_target { 0 } else { s.delivered };
            }
            w.cwnd = w.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            w.cwnd = w.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// Bounds the window by the part that losses leave.
    pub(super) fn bound_cwnd(&self, w: &mut Window) {
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.inflight_hi,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => NONE,
        };
        w.cwnd = w.cwnd.min(cap.min(self.bounds.inflight_lo).max(MIN_CWND));
    }
}
