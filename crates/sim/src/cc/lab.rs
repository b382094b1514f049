//! A connection that tests play to a congestion control: whole round trips in which every ACK acknowledges as many segments.

use serde_json::Value;

use super::{
    AnyCc, CaState, CongestionControl, Control, Event, Growth, Parameters, RateSample, View, Window, INFINITE_SSTHRESH,
};

/// A control with parameters as given.
pub(super) fn made(control: &Control, given: &Value) -> AnyCc {
    (control.build)(&Parameters::resolve(control.parameters, &[], given.as_object().unwrap()).unwrap())
}

/// A connection whose window limits it, on a path of a constant RTT.
pub(super) struct Lab {
    pub cc: AnyCc,
    pub v: View,
    pub w: Window,
    /// RTT of what is acknowledged, us.
    pub rtt_us: u64,
    /// Segments an ACK acknowledges.
    pub per_ack: u32,
}

impl Lab {
    /// In congestion avoidance at a window of `cwnd`, with an RTT of 40 ms and an ACK for each segment.
    pub fn new(cc: AnyCc, cwnd: u32) -> Self {
        Self::started(cc, Window::new(cwnd, 1))
    }

    /// In slow start.
    pub fn in_slow_start(cc: AnyCc, cwnd: u32) -> Self {
        Self::started(cc, Window::new(cwnd, INFINITE_SSTHRESH))
    }

    fn started(mut cc: AnyCc, mut w: Window) -> Self {
        let mut v = View::new(1000, Growth::Segments, false);
        (v.is_cwnd_limited, v.snd_una, v.snd_nxt, v.delivered) = (true, 1, 1, 1);
        (v.mstamp_us, v.jiffies) = (5_000_000, 5000);
        (v.srtt_us8, v.min_rtt_us) = (8 * 40_000, 40_000);
        cc.init(&v, &mut w);
        Self { cc, v, w, rtt_us: 40_000, per_ack: 1 }
    }

    /// Time passes.
    pub fn pass(&mut self, us: u64) {
        self.v.mstamp_us += us;
        self.v.jiffies = (self.v.mstamp_us * u64::from(self.v.hz) / 1_000_000) as u32;
    }

    /// One ACK of `acked` segments.
    pub fn ack(&mut self, acked: u32) {
        let (v, w) = (&mut self.v, &mut self.w);
        v.snd_una += acked;
        v.snd_nxt = v.snd_nxt.max(v.snd_una);
        v.delivered += acked;
        let s = RateSample { slow_path: acked == 0, ..RateSample::progress(v, acked, self.rtt_us as i64, false) };
        self.cc.pkts_acked(v, w, &s);
        self.cc.on_ack(v, w, &s);
        if !v.in_reduction() {
            self.cc.cong_avoid(v, w, acked);
        }
    }

    /// A round trip: a window is sent, and acknowledged at even distances.
    pub fn round(&mut self) {
        let window = self.w.cwnd.max(1);
        self.v.snd_nxt = self.v.snd_una + window;
        (self.v.packets_out, self.v.max_packets_out) = (window, window);
        let end = self.v.mstamp_us + self.rtt_us;
        let acks = u64::from(window.div_ceil(self.per_ack));
        let mut left = window;
        while left > 0 {
            let acked = self.per_ack.min(left);
            left -= acked;
            self.pass(self.rtt_us / acks);
            self.v.packets_out = left;
            self.ack(acked);
        }
        self.pass(end - self.v.mstamp_us);
    }

    pub fn rounds(&mut self, n: u32) {
        (0..n).for_each(|_| self.round());
    }

    /// How many round trips until the window is `cwnd`.
    pub fn rounds_until(&mut self, cwnd: u32) -> u32 {
        let mut rounds = 0;
        while self.w.cwnd < cwnd {
            self.round();
            rounds += 1;
            assert!(rounds < 1_000_000, "a window of {} does not become {cwnd}", self.w.cwnd);
        }
        rounds
    }

    /// A state of the connection begins.
    pub fn enter(&mut self, state: CaState) {
        self.cc.on_event(&self.v, &mut self.w, Event::State(state));
        self.v.state = state;
    }

    pub fn event(&mut self, e: Event) {
        self.cc.on_event(&self.v, &mut self.w, e);
    }

    /// The threshold is reduced as at a loss, and returned.
    pub fn reduced(&mut self) -> u32 {
        self.v.prior_cwnd = self.w.cwnd;
        self.w.cwnd_cnt = 0;
        self.w.ssthresh = self.cc.ssthresh(&self.v, &self.w);
        self.w.ssthresh
    }

    /// A segment is lost and recovered, which takes a round trip.
    pub fn lose(&mut self) {
        self.reduced();
        self.enter(CaState::Recovery);
        self.pass(self.rtt_us);
        self.w.cwnd = self.w.ssthresh;
        self.event(Event::CompleteCwr);
        self.enter(CaState::Open);
    }

    /// A retransmission timeout.
    pub fn time_out(&mut self) {
        self.reduced();
        self.event(Event::Loss);
        (self.w.cwnd, self.w.cwnd_cnt) = (1, 0);
        self.enter(CaState::Loss);
    }
}
