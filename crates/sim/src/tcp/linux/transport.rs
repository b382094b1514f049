//! Linux's TCP as a transport.

use super::receiver::Receiver;
use super::sender::Sender;
use crate::catalogue::Tell;
use crate::cc::{CongestionControl, INFINITE_SSTHRESH};
use crate::outbox::{HostQueue, Outbox};
use crate::segment::Segment;
use crate::tcp::common::lazy_timer::Turn;
use crate::tcp::transport::{
    own, passed_on, LimitedTimes, ReceiverCounters, ReceivingEnd, SenderCounters, SenderSample, SendingEnd,
};
use crate::time::Time;

impl SendingEnd for Sender {
    type Body = Segment;

    passed_on! { own, SendingEnd;
        fn connect(&mut self, out: &mut impl Outbox);
        fn abort(&mut self);
        #[inline]
        fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox);
        fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn>;
        fn fire(&mut self, place: u32, out: &mut impl Outbox);
        fn on_host_with_queue(&mut self, kind: HostQueue);
        fn pace_in_host(&mut self);
        fn on_left_host(&mut self, p: &Segment) -> bool;
        fn on_room_in_host(&mut self, out: &mut impl Outbox);
        fn on_application(&mut self, out: &mut impl Outbox);
        fn on_departure_timer(&mut self, out: &mut impl Outbox);
        const
        fn has_connected(&self) -> bool;
    }

    fn has_closed(&self, _end: u32) -> bool {
        self.has_closed()
    }
    fn counters(&self) -> &SenderCounters {
        &self.counters
    }
    fn sample(&self) -> SenderSample {
        let (v, w) = (&self.view, &self.window);
        let measured = v.srtt_us8 != 0;
        SenderSample {
            cwnd: f64::from(w.cwnd),
            ssthresh: (w.ssthresh != INFINITE_SSTHRESH).then(|| f64::from(w.ssthresh)),
            srtt_ms: measured.then(|| f64::from(v.srtt_us8) / 8e3),
            rtt_ms: measured.then(|| f64::from(self.rtt.last_us()) / 1e3),
            min_rtt_ms: (v.min_rtt_us != u32::MAX).then(|| f64::from(v.min_rtt_us) / 1e3),
            in_flight: v.in_flight(),
            delivered: v.delivered,
            delivered_ce: v.delivered_ce,
            state: v.state,
        }
    }
    fn prefetch_behind(&self) {
        self.prefetch_segment();
    }
    fn srtt_has_wrapped(&self) -> bool {
        self.rtt.has_wrapped()
    }
    fn limited_times(&self, at: Time) -> Option<LimitedTimes> {
        Some(self.limited_times(at))
    }
    fn state(&self, now: Time, tell: &mut Tell) {
        let (v, w) = (&self.view_at(now), &self.window);
        let rate = self.pacing_rate();
        if rate != u64::MAX {
            tell("pacing_bps", rate as f64 * 8.0);
        }
        tell("rto_ms", self.rto_us() as f64 / 1e3);
        if v.srtt_us8 != 0 {
            tell("rttvar_ms", f64::from(self.rtt.mdev_us()) / 1e3);
        }
        tell("sacked", f64::from(v.sacked_out));
        tell("lost", f64::from(v.lost_out));
        tell("retrans_out", f64::from(v.retrans_out));
        tell("reordering", f64::from(self.reordering_degree()));
        // A sample at the end of the flow comes after the flow is cut off.
        if self.has_connected() {
            self.congestion_control().state(v, w, tell);
        }
    }
}

impl ReceivingEnd for Receiver {
    type Body = Segment;

    passed_on! { own, ReceivingEnd;
        #[inline]
        fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox);
        fn on_timer(&mut self, which: usize, out: &mut impl Outbox);
        fn connect(&mut self, out: &mut impl Outbox);
        fn abort(&mut self);
        fn on_application(&mut self, out: &mut impl Outbox);
        fn on_turn(&mut self, out: &mut impl Outbox);
        const
        fn has_closed(&self) -> bool;
        fn counters(&self) -> &ReceiverCounters;
        fn window_scale(&self) -> u8;
        fn bytes_read(&self) -> u64;
    }

    fn completed(&self) -> Option<Time> {
        self.completed
    }
    fn prefetch_behind(&self) {
        self.prefetch_ranges();
    }
}
