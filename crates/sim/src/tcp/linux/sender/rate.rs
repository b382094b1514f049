//! Delivery rate samples (Linux 6.12 net/ipv4/tcp_rate.c; draft-cheng-iccrg-delivery-rate-estimation): what is noted of a segment whenever it is
//! sent, and what comes of that when it is delivered. What was in flight then and has been lost since is noted as google/bbr (branch v3) does it,
//! `tcp_rate_skb_sent`.
//!
//! Only taken for a control that asks for it, beside the scoreboard, so that others pay nothing.

use std::ops::Range;

use super::scoreboard::mark;
use super::Sender;
use crate::cc::{CongestionControl, DeliveryRate, Lost, RateSample, Renumbering, View};
use crate::prefetch::prefetch_element;

/// Note on a segment when it is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Transmission {
    /// When the segment left that had been delivered last, us.
    first_tx_us: u64,
    /// When something had been delivered last, us; 0: this segment is SACKed, and tells no more.
    delivered_us: u64,
    /// Segments delivered.
    delivered: u32,
    /// Delivered segments whose ACK had an ECN echo.
    delivered_ce: u32,
    /// Segments in flight, this one included.
    in_flight: u32,
    /// Segments ever deemed lost.
    lost: u32,
    /// The application limited sending.
    is_app_limited: bool,
}

/// Notes on the segments in flight, and the sample of the ACK in hand. Told of everything sent and delivered; asked at the end of an ACK.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct RateSampler {
    /// By sequence number, in a ring as large as the largest flight.
    ring: Vec<Transmission>,
    /// When the segment left that was sent last of those delivered, us.
    first_tx_us: u64,
    /// The transmission of the segment sent last of those that the ACK in hand delivers, which segment that is, and for how long segments had been
    /// sent then since the one delivered last before it, us.
    latest: Option<Transmission>,
    latest_seq: u32,
    send_us: u64,
    /// The receiver gave up what it had SACKed, and the timeout after that is not over; and so it was before the ACK in hand.
    reneged: bool,
    reneged_before: bool,
}

impl Default for RateSampler {
    fn default() -> Self {
        Self {
            ring: vec![Transmission::default(); 64],
            first_tx_us: 0,
            latest: None,
            latest_seq: 0,
            send_us: 0,
            reneged: false,
            reneged_before: false,
        }
    }
}

impl RateSampler {
    fn begin(&mut self) {
        self.latest = None;
        self.reneged_before = self.reneged;
    }

    /// Segment `seq` is soon said to be delivered: loads ahead what is noted of it.
    #[inline]
    fn prefetch(&self, seq: u32) {
        prefetch_element(&self.ring, seq as usize & (self.ring.len() - 1));
    }

    /// Renumbers the segments `flight`: one is new and was sent with the one before it, or one has gone.
    pub fn renumber(&mut self, r: Renumbering, flight: Range<u32>) {
        if r.is_addition() {
            if (flight.end + 1 - flight.start) as usize > self.ring.len() {
                self.grow((flight.end + 1 - flight.start) as usize, flight.clone());
            }
            for seq in (r.segment()..flight.end).rev() {
                *self.slot(seq + 1) = *self.slot(seq);
            }
        } else {
            for seq in r.segment() + 1..flight.end - 1 {
                *self.slot(seq) = *self.slot(seq + 1);
            }
        }
    }

    fn slot(&mut self, seq: u32) -> &mut Transmission {
        let mask = self.ring.len() - 1;
        &mut self.ring[seq as usize & mask]
    }

    /// The segments of `run` leave at `departure_us`, while `[una, run.start)` is outstanding, or one of these again. `at_once`: as a TSO segment.
    /// Inlined, so that the ends of a run of one, the usual one of a paced sender, are known.
    #[inline(always)]
    fn sent(&mut self, v: &mut View, app_limited: bool, run: Range<u32>, departure_us: u64, at_once: bool) {
        let span = (run.end.max(v.snd_nxt) - v.snd_una) as usize;
        if span > self.ring.len() {
            self.grow(span, v.snd_una..run.start);
        }
        if v.packets_out == 0 {
            (self.first_tx_us, v.delivered_us) = (departure_us, departure_us);
        }
        let (first, step) = if at_once { (run.end - run.start, 0) } else { (1, 1) };
        let mut in_flight = v.in_flight() + first;
        for seq in run {
            *self.slot(seq) = Transmission {
                first_tx_us: self.first_tx_us,
                delivered_us: v.delivered_us,
                delivered: v.delivered,
                delivered_ce: v.delivered_ce,
                in_flight,
                lost: v.lost,
                is_app_limited: app_limited,
            };
            in_flight += step;
        }
    }

    /// Doubles the ring until it takes `span` segments; `flight` is what is in it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, span: usize, flight: Range<u32>) {
        let larger = vec![Transmission::default(); span.next_power_of_two()];
        let old = std::mem::replace(&mut self.ring, larger);
        for seq in flight {
            *self.slot(seq) = old[seq as usize & (old.len() - 1)];
        }
    }

    /// Segment `seq`, sent last at `sent_us`, is delivered, or is SACKed already.
    #[inline(always)]
    fn delivered(&mut self, seq: u32, sent_us: u64, sacked: bool) {
        let mask = self.ring.len() - 1;
        let t = &mut self.ring[seq as usize & mask];
        if t.delivered_us == 0 {
            return;
        }
        if self.latest.is_none() || (sent_us, seq) > (self.first_tx_us, self.latest_seq) {
            (self.latest, self.latest_seq) = (Some(*t), seq);
            self.first_tx_us = sent_us;
            self.send_us = sent_us.saturating_sub(t.first_tx_us);
        }
        if sacked {
            t.delivered_us = 0;
        }
    }

    /// The segment `seq`, just deemed lost.
    fn lost(&mut self, v: &View, seq: u32) -> Lost {
        let t = *self.slot(seq);
        if t.delivered_us == 0 {
            // SACKed before, which the receiver has taken back.
            return Lost { seq, ..Lost::default() };
        }
        let lost = v.lost.wrapping_sub(t.lost) as i32;
        Lost { seq, tx_in_flight: t.in_flight, lost, is_app_limited: t.is_app_limited }
    }

    /// The sample, once the ACK in hand has been processed: all but whether it may be delayed.
    fn rate(&self, v: &View) -> DeliveryRate {
        let Some(t) = self.latest.as_ref().filter(|_| !self.reneged_before) else {
            return DeliveryRate { interval_us: -1, delivered: -1, ..self.transmission(v) };
        };
        let ack_us = v.mstamp_us.saturating_sub(t.delivered_us);
        let interval_us = self.send_us.max(ack_us);
        DeliveryRate {
            interval_us: if interval_us < u64::from(v.min_rtt_us) { -1 } else { interval_us as i64 },
            delivered: v.delivered.wrapping_sub(t.delivered) as i32,
            delivered_ce: v.delivered_ce.wrapping_sub(t.delivered_ce),
            ..self.transmission(v)
        }
    }

    /// The sample's part on the transmission itself.
    fn transmission(&self, v: &View) -> DeliveryRate {
        let Some(t) = &self.latest else { return DeliveryRate::default() };
        DeliveryRate {
            prior_delivered: t.delivered,
            tx_in_flight: t.in_flight,
            lost: v.lost.wrapping_sub(t.lost) as i32,
            is_app_limited: t.is_app_limited,
            ..DeliveryRate::default()
        }
    }
}

impl Sender {
    /// The segments of `run` are sent, new ones or one again, and not counted yet.
    #[inline(always)]
    pub(super) fn note_departure(&mut self, run: Range<u32>) {
        if let Some(sampler) = &mut self.sampler {
            let (limited, departure_us) = (self.window.app_limited != 0, self.view.mstamp_us);
            sampler.sent(&mut self.view, limited, run, departure_us, self.tso.enabled);
        }
    }

    /// An ACK arrives whose news, if it has any, is that of the segment before `end`.
    #[inline]
    pub(super) fn begin_sample(&mut self, end: u32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.prefetch(end.wrapping_sub(1));
            sampler.begin();
        }
    }

    /// The receiver gave up what it had SACKed, or the timeout after that is over.
    pub(super) fn set_reneged(&mut self, reneged: bool) {
        if let Some(sampler) = &mut self.sampler {
            sampler.reneged = reneged;
        }
    }

    /// The segments of `run` are delivered: acknowledged, or SACKed, now or before. Those below the cumulative point are not told of as SACKed.
    #[inline(never)]
    pub(super) fn note_deliveries(&mut self, run: Range<u32>) {
        if let Some(sampler) = &mut self.sampler {
            for seq in run {
                let segment = self.board.get(seq);
                sampler.delivered(seq, segment.sent_us(), segment.marks & mark::SACKED != 0);
            }
        }
    }

    /// Does the work of [`Self::note_deliveries`] for a segment that is SACKed and was sent last at `sent_us`.
    #[inline(always)]
    pub(super) fn note_sacked(&mut self, seq: u32, sent_us: u64) {
        if let Some(sampler) = &mut self.sampler {
            sampler.delivered(seq, sent_us, true);
        }
    }

    /// The segment `seq` has just been deemed lost: tells the control, if it wants to know.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux) fn tell_lost(&mut self, seq: u32) {
        if let Some(sampler) = &mut self.sampler {
            let lost = sampler.lost(&self.view, seq);
            self.cc.on_lost(&self.view, &mut self.window, &lost);
        }
    }

    /// The application limited sending when the segment `seq` was sent last.
    pub(super) fn was_app_limited(&mut self, seq: u32) -> bool {
        self.sampler.as_mut().is_some_and(|sampler| sampler.slot(seq).is_app_limited)
    }

    /// The part of the sample that is known before losses are looked for. A control that sets the window by itself waits for the whole of it.
    #[inline]
    pub(super) fn sample_transmission(&self, sample: &mut RateSample) {
        if let Some(sampler) = self.sampler.as_ref().filter(|_| !self.needs.cong_control) {
            sample.rate = sampler.transmission(&self.view);
        }
    }

    /// The ACK in hand is processed, but for the control: fills the sample's rate.
    #[inline(never)]
    pub(super) fn sample_rate(&mut self, sample: &mut RateSample, maybe_delayed: bool) {
        let Some(sampler) = &self.sampler else { return };
        let limit = self.window.app_limited;
        if limit != 0 && (self.view.delivered.wrapping_sub(limit) as i32) > 0 {
            self.window.app_limited = 0;
        }
        if sample.delivered > 0 {
            self.view.delivered_us = self.view.mstamp_us;
        }
        let is_of_loss_probe = self.probe.has_retransmitted() && self.probe.ends_at(self.view.snd_una);
        sample.rate = DeliveryRate { is_ack_delayed: maybe_delayed, is_of_loss_probe, ..sampler.rate(&self.view) };
    }

    /// The application is about to write.
    #[inline]
    pub(super) fn note_write(&mut self) {
        if self.sampler.is_some() {
            self.mark_limit();
        }
    }

    /// If nothing has kept the sender from sending but that there was nothing to send, what is in flight does not
    /// show the rate of the path (`tcp_rate_check_app_limited`).
    #[inline(never)]
    fn mark_limit(&mut self) {
        let v = &self.view;
        let unsent = self.buffer.written - v.snd_nxt;
        let has_full = unsent > 1 || (unsent == 1 && self.layout.payload(v.snd_nxt) == self.layout.mss());
        if !has_full && self.small_queue.is_empty() && v.in_flight() < self.window.cwnd && v.lost_out <= v.retrans_out {
            self.window.app_limited = v.delivered.wrapping_add(v.in_flight()).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Growth;

    #[test]
    fn an_interval_below_the_least_round_trip_is_none_and_so_is_one_after_reneging() {
        let mut v = View::new(1000, Growth::Segments, false);
        (v.snd_una, v.snd_nxt, v.delivered, v.min_rtt_us) = (1, 1, 1, 20_000);
        let mut sampler = RateSampler::default();
        sampler.sent(&mut v, false, 1..2, 100_000, false);
        (v.snd_nxt, v.packets_out, v.delivered, v.mstamp_us) = (2, 1, 2, 119_999);
        for (reneged, now, expected) in
            [(false, 119_999, (1, -1)), (false, 120_000, (1, 20_000)), (true, 120_000, (-1, -1))]
        {
            sampler.reneged = reneged;
            sampler.begin();
            sampler.delivered(1, 100_000, false);
            v.mstamp_us = now;
            let rate = sampler.rate(&v);
            assert_eq!((rate.delivered, rate.interval_us), expected);
        }
    }
}
