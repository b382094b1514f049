//! BBR's model step by step, against what the kernel's arithmetic gives by hand.

use super::*;
use crate::cc::{DeliveryRate, Growth};

/// A connection over 40 ms with a window of 10.
struct Lab {
    bbr: Bbr,
    v: View,
    w: Window,
}

impl Lab {
    fn new() -> Self {
        let mut v = View::new(1000, Growth::Segments, false);
        (v.delivered, v.srtt_us8, v.min_rtt_us, v.mstamp_us, v.jiffies) = (1, 8 * 40_000, 40_000, 1_000_000, 1000);
        v.seed = [1, 2];
        let mut lab = Self { bbr: Bbr::new(), v, w: Window::new(10, 1000) };
        lab.bbr.init(&lab.v, &mut lab.w);
        lab
    }

    /// An ACK `after_us` later for `acked` segments, the last of which was sent when `prior` were delivered, `interval_us` before.
    fn sample(&mut self, after_us: u64, acked: u32, prior: u32, interval_us: i64) -> RateSample {
        self.v.mstamp_us += after_us;
        self.v.jiffies = (self.v.mstamp_us / 1000) as u32;
        (self.v.delivered, self.v.delivered_us) = (self.v.delivered + acked, self.v.mstamp_us);
        let rate = DeliveryRate {
            interval_us,
            delivered: (self.v.delivered - prior) as i32,
            prior_delivered: prior,
            ..DeliveryRate::default()
        };
        RateSample { rtt_us: 40_000, delivered: acked, acked, rate, ..RateSample::default() }
    }

    fn ack(&mut self, after_us: u64, acked: u32, prior: u32, interval_us: i64) {
        let s = self.sample(after_us, acked, prior, interval_us);
        self.bbr.cong_control(&self.v, &mut self.w, &s);
    }

    /// Rounds of 40 ms in which so many segments are delivered, until one is not in STARTUP any more.
    fn fill_pipe(&mut self, size: u32) {
        for _ in 0..20 {
            let prior = self.v.delivered;
            self.v.packets_out = size;
            self.ack(40_000, size, prior, 40_000);
            if self.bbr.mode != Mode::Startup {
                return;
            }
        }
        panic!("the pipe is not full after 20 rounds");
    }
}

#[test]
fn it_starts_at_the_high_gain_over_the_handshake() {
    let lab = Lab::new();
    // 10 segments in 40 ms: 10 * 2^24 / 40000 = 4194; times 1448, 739/256, 0.99 s, over 2^24.
    assert_eq!(lab.w.pacing_rate, (((4194 * 1448 * 739) >> 8) * 990_000) >> 24);
    assert_eq!((lab.w.ssthresh, lab.w.min_tso_segments), (INFINITE_SSTHRESH, 2));
}

#[test]
fn below_1200_kbit_a_segment_goes_alone() {
    let mut w = Window::new(10, 10);
    let least = [149_999, 150_000].map(|rate| {
        Bbr::set_rate(&mut w, rate);
        w.min_tso_segments
    });
    assert_eq!(least, [1, 2]);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_growth_by_a_quarter() {
    let mut lab = Lab::new();
    let mut sizes = vec![];
    for size in [20, 40, 80, 100, 100, 100, 100] {
        let prior = lab.v.delivered;
        (lab.v.packets_out, lab.v.sacked_out) = (2 * size, 0);
        lab.ack(40_000, size, prior, 40_000);
        sizes.push((lab.bbr.mode, lab.bbr.full_rounds));
    }
    use Mode::{Drain, Startup};
    // 100 of 80 is just a quarter more, but for what the division has cut off.
    let bw = |segments: u64| segments * BW_UNIT / 40_000;
    assert!(bw(100) >= (bw(80) * 320) >> 8);
    assert_eq!(sizes, [0, 0, 0, 0, 1, 2, 3].map(|rounds| (if rounds < 3 { Startup } else { Drain }, rounds)));
    // In DRAIN at 88/256 of the bandwidth, the window still as in STARTUP.
    assert_eq!((lab.bbr.pacing_gain, lab.bbr.cwnd_gain), (88, 739));
    assert_eq!(lab.w.pacing_rate, rate_bytes_per_sec(&lab.v, bw(100) as u32, 88));
    assert_eq!(lab.w.ssthresh, 100 + 3 * 6, "with three TSO segments at the rate of STARTUP");
}

#[test]
fn targets_have_room_for_three_tso_segments_are_even_and_two_more_in_the_first_phase() {
    let mut lab = Lab::new();
    lab.bbr.min_rtt_us = 40_000;
    // 3001 segments a second over 40 ms: 120.04, rounded up.
    let bw = (3001 * BW_UNIT / 1_000_000) as u32;
    assert_eq!([lab.bbr.bdp(bw, UNIT), lab.bbr.bdp(bw, 512), lab.bbr.bdp(bw, 320)], [121, 241, 151]);
    lab.w.pacing_rate = 4 << 20;
    // 4096 bytes at 1/1024 s are two segments: 121 + 6, and one to be even.
    assert_eq!(lab.bbr.with_budget(&lab.v, &lab.w, 121), 128);
    (lab.bbr.mode, lab.bbr.cycle) = (Mode::ProbeBw, 0);
    assert_eq!(lab.bbr.with_budget(&lab.v, &lab.w, 121), 130);
    lab.w.pacing_rate = 1 << 40;
    assert_eq!(Bbr::tso_goal(&lab.v, &lab.w), 45, "64 KiB less headers");
    lab.bbr.min_rtt_us = u32::MAX;
    assert_eq!(lab.bbr.bdp(bw, UNIT), 10);
}

#[test]
fn what_has_not_left_yet_is_not_in_the_network() {
    let mut lab = Lab::new();
    lab.bbr.bw.update(10, 0, (BW_UNIT / 1000) as u32);
    lab.v.departure_ns = lab.v.mstamp_us * 1000 + 5_000_000;
    lab.bbr.pacing_gain = UNIT;
    // One segment a millisecond, but for what the division has cut off; 5 ms.
    assert_eq!([10, 3].map(|in_flight| lab.bbr.in_network(&lab.v, &lab.w, in_flight)), [6, 0]);
    lab.bbr.pacing_gain = 320;
    lab.w.pacing_rate = 4 << 20;
    assert_eq!(lab.bbr.in_network(&lab.v, &lab.w, 10), 8, "the one that leaves then counts as well");
}

#[test]
fn cycling_never_begins_with_less_and_draws_once() {
    let begin = |seed| {
        let mut lab = Lab::new();
        lab.v.seed = [seed, 0];
        lab.bbr.begin_cycling(&lab.v);
        let first = lab.bbr.cycle;
        lab.bbr.begin_cycling(&lab.v);
        let mut stream = lab.v.random_stream();
        let drawn = [(); 2].map(|()| stream.below(7) as usize);
        assert_eq!([first, lab.bbr.cycle], drawn.map(|drawn| (8 - drawn) % 8));
        first
    };
    let mut seen = [0; 8];
    (0..700).for_each(|seed| seen[begin(seed)] += 1);
    assert!(seen[1] == 0 && (0..8).filter(|&phase| phase != 1).all(|phase| seen[phase] > 60), "{seen:?}");
}

#[test]
fn phases_last_a_round_trip_strictly_and_more_or_less_than_that() {
    let mut lab = Lab::new();
    lab.fill_pipe(100);
    lab.v.packets_out = 0;
    let prior = lab.v.delivered;
    lab.ack(1000, 1, prior, 40_000);
    assert_eq!(lab.bbr.mode, Mode::ProbeBw);
    (lab.bbr.cycle, lab.bbr.pacing_gain, lab.bbr.cycle_us) = (3, UNIT, lab.v.delivered_us);
    let is_over = |cycle: usize, after_us: u64, in_flight: u32, losses: u32| {
        let mut lab = Lab { bbr: lab.bbr.clone(), v: lab.v.clone(), w: lab.w.clone() };
        (lab.bbr.cycle, lab.bbr.pacing_gain) = (cycle, CYCLE[cycle]);
        let mut s = lab.sample(after_us, 1, lab.v.delivered - 50, 40_000);
        (s.prior_in_flight, s.losses) = (in_flight, losses);
        lab.bbr.is_phase_over(&lab.v, &lab.w, &s)
    };
    assert_eq!([40_000, 40_001].map(|us| is_over(3, us, 0, 0)), [false, true]);
    let target = 140;
    assert!(!is_over(0, 50_000, 80, 0) && is_over(0, 50_000, 80, 1) && is_over(0, 50_000, target, 0));
    assert!(!is_over(0, 30_000, target, 1), "at least a round trip");
    assert!(is_over(1, 10_000, 100, 0) && !is_over(1, 10_000, target, 0) && is_over(1, 40_001, target, 0));
}

#[test]
fn after_ten_seconds_without_a_lower_round_trip_it_sends_little_for_200_ms_and_a_round() {
    let mut lab = Lab::new();
    lab.fill_pipe(100);
    let (stamp, cwnd) = (lab.bbr.min_rtt_stamp, lab.w.cwnd);
    lab.v.packets_out = 100;
    let mut prior = lab.v.delivered;
    let mut step = |lab: &mut Lab, after_us: u64, out: u32| {
        lab.v.packets_out = out;
        let s = RateSample { rtt_us: 45_000, ..lab.sample(after_us, 1, prior, 40_000) };
        prior = lab.v.delivered;
        lab.bbr.cong_control(&lab.v, &mut lab.w, &s);
        lab.bbr.mode
    };
    let until = u64::from(stamp) * 1000 + 10_000_000;
    let now = lab.v.mstamp_us;
    assert_ne!(step(&mut lab, until - now, 100), Mode::ProbeRtt, "strictly after");
    assert_eq!(step(&mut lab, 1000, 100), Mode::ProbeRtt);
    assert_eq!((lab.bbr.min_rtt_us, lab.w.cwnd), (45_000, 4), "the first sample after that counts, whatever it is");
    assert!(lab.w.app_limited > lab.v.delivered, "rates seen now do not count");
    assert_eq!((step(&mut lab, 1000, 5), lab.bbr.probe_rtt_done), (Mode::ProbeRtt, None));
    step(&mut lab, 1000, 4);
    assert_eq!(lab.bbr.probe_rtt_done, Some(lab.v.jiffies + 200));
    assert_eq!(step(&mut lab, 200_000, 4), Mode::ProbeRtt, "strictly after");
    assert_eq!(step(&mut lab, 1000, 4), Mode::ProbeBw);
    assert_eq!(lab.bbr.prior_cwnd, cwnd);
    let target = 2 * 113 + 3 * 2;
    assert_eq!((lab.w.cwnd, lab.bbr.min_rtt_stamp), (target, lab.v.jiffies), "twice 100 segments in 40 ms over 45 ms");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
    let mut lab = Lab::new();
    lab.fill_pipe(100);
    lab.w.cwnd = 200;
    lab.bbr.ssthresh(&lab.v, &lab.w);
    (lab.v.state, lab.v.packets_out, lab.v.lost_out) = (CaState::Recovery, 150, 3);
    let mut s = lab.sample(1000, 2, lab.v.delivered - 50, 40_000);
    s.losses = 3;
    lab.bbr.cong_control(&lab.v, &mut lab.w, &s);
    assert_eq!(lab.w.cwnd, 149, "147 in flight and two delivered");
    assert_eq!(lab.bbr.next_round_delivered, lab.v.delivered, "a round begins");
    let s = RateSample { delivered: 0, ..lab.sample(1000, 0, lab.v.delivered - 50, 40_000) };
    lab.v.state = CaState::Open;
    lab.bbr.cong_control(&lab.v, &mut lab.w, &s);
    assert_eq!((lab.bbr.previous, lab.w.cwnd), (CaState::Recovery, 149), "nothing was delivered: noticed later");
    let prior = lab.v.delivered - 50;
    lab.ack(1000, 1, prior, 40_000);
    let target = lab.bbr.with_budget(
        &lab.v,
        &lab.w,
        lab.bbr.bdp(lab.bbr.bw(), lab.bbr.cwnd_gain) + lab.bbr.aggregation_cwnd(lab.bbr.bw()),
    );
    assert_eq!((lab.bbr.conserves, lab.w.cwnd), (false, target.min(201)), "200 and one, or the target");
}

#[test]
fn a_timeout_ends_a_round_and_an_undo_forgets_that_the_pipe_was_full() {
    let mut lab = Lab::new();
    lab.fill_pipe(100);
    lab.bbr.full_bw = 7;
    lab.bbr.on_event(&lab.v, &mut lab.w, Event::State(CaState::Loss));
    assert_eq!((lab.bbr.full_bw, lab.bbr.round_start, lab.bbr.previous), (0, true, CaState::Loss));
    (lab.bbr.full_bw, lab.bbr.full_rounds, lab.w.cwnd) = (7, 2, 33);
    assert_eq!(lab.bbr.undo_cwnd(&lab.v, &lab.w), 33);
    assert_eq!((lab.bbr.full_bw, lab.bbr.full_rounds), (0, 0));
}

#[test]
fn after_a_pause_of_the_application_it_paces_at_the_bandwidth() {
    let mut lab = Lab::new();
    lab.fill_pipe(100);
    lab.v.packets_out = 0;
    let prior = lab.v.delivered;
    lab.ack(1000, 1, prior, 40_000);
    assert_eq!(lab.bbr.mode, Mode::ProbeBw);
    lab.w.app_limited = 0;
    lab.bbr.on_event(&lab.v, &mut lab.w, Event::TxStart);
    assert!(!lab.bbr.idle_restart);
    lab.w.app_limited = lab.v.delivered;
    lab.bbr.on_event(&lab.v, &mut lab.w, Event::TxStart);
    assert!(lab.bbr.idle_restart);
    assert_eq!(lab.w.pacing_rate, rate_bytes_per_sec(&lab.v, lab.bbr.bw(), UNIT));
}

#[test]
fn samples_that_the_application_limits_count_only_if_they_are_as_high() {
    let mut lab = Lab::new();
    let prior = lab.v.delivered;
    lab.ack(40_000, 10, prior, 40_000);
    let bw = lab.bbr.bw.get();
    let limited = |lab: &mut Lab, acked: u32| {
        let mut s = lab.sample(40_000, acked, lab.v.delivered, 40_000);
        s.rate.is_app_limited = true;
        lab.bbr.cong_control(&lab.v, &mut lab.w, &s);
        lab.bbr.bw.get()
    };
    (0..12).for_each(|_| assert_eq!(limited(&mut lab, 5), bw, "twelve rounds later it is still the same"));
    assert_eq!(limited(&mut lab, 10), bw);
    assert!(limited(&mut lab, 12) > bw);
}
