//! Rate samples, rule by rule, at a peer that the test plays.

use std::sync::{Arc, Mutex};

use crate::cc::{BoxedControl, CongestionControl, DeliveryRate, Event, Lost, Needs, RateSample, View, Window};
use crate::outbox::LoneOutbox;
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::sender::tests::Pair;
use crate::tcp::linux::sender::{Sender, SOURCES};
use crate::tcp::linux::stack::Stack;
use crate::time::MS;

/// Keeps its samples and what it hears of losses, and a window of its own.
#[derive(Clone, Debug)]
struct Sampled {
    cwnd: u32,
    samples: Arc<Mutex<Vec<RateSample>>>,
    lost: Arc<Mutex<Vec<Lost>>>,
    /// For each loss that a probe repaired: whether the application had limited sending.
    repaired: Arc<Mutex<Vec<bool>>>,
}

impl Sampled {
    fn new(cwnd: u32) -> Self {
        Self { cwnd, samples: Arc::default(), lost: Arc::default(), repaired: Arc::default() }
    }

    fn last(&self) -> RateSample {
        *self.samples.lock().unwrap().last().unwrap()
    }

    /// The last sample: segments, us, and whether the application limited it.
    fn rate(&self) -> (i32, i64, bool) {
        let DeliveryRate { delivered, interval_us, is_app_limited, .. } = self.last().rate;
        (delivered, interval_us, is_app_limited)
    }
}

impl CongestionControl for Sampled {
    fn init(&mut self, _: &View, w: &mut Window) {
        w.cwnd = self.cwnd;
    }
    fn ssthresh(&mut self, _: &View, _: &Window) -> u32 {
        2
    }
    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {}
    fn cong_control(&mut self, _: &View, w: &mut Window, s: &RateSample) {
        w.cwnd = self.cwnd;
        self.samples.lock().unwrap().push(*s);
    }
    fn on_lost(&mut self, _: &View, _: &mut Window, lost: &Lost) {
        self.lost.lock().unwrap().push(*lost);
    }
    fn on_event(&mut self, _: &View, _: &mut Window, e: Event) {
        if let Event::ProbeRepairedLoss(limited) = e {
            self.repaired.lock().unwrap().push(limited);
        }
    }
}

impl BoxedControl for Sampled {
    fn needs(&self) -> Needs {
        Needs { cong_control: true, rate_samples: true, losses: true, ..Needs::NOTHING }
    }
}

#[test]
fn a_sample_is_what_was_delivered_since_the_segment_was_sent_over_the_longer_phase() {
    let control = Sampled::new(10);
    let mut pair = Pair::custom(control.clone());
    // Segments 1 to 10 left at 20 ms, one of which the handshake had counted as delivered.
    pair.ack(5, &[]);
    assert_eq!(control.rate(), (4, 20_000, true), "what the first write sent counts as limited");
    assert_eq!((control.last().rate.prior_delivered, control.last().rate.tx_in_flight), (1, 4));
    pair.ack(11, &[]);
    assert_eq!(control.rate(), (10, 40_000, true), "since the segments were sent, not since the last ACK");
    // 11 to 14 left at 40 ms, when 5 had been delivered; 15 to 20 at 60 ms.
    pair.ack(15, &[]);
    assert_eq!(control.rate(), (10, 40_000, false), "delivered: 15 - 5; sent: 40 - 20 ms; acknowledged: 80 - 40 ms");
    pair.ack(21, &[]);
    assert_eq!(control.rate(), (10, 40_000, false));
}

#[test]
fn what_is_sacked_tells_once() {
    let control = Sampled::new(10);
    let mut pair = Pair::custom(control.clone());
    pair.ack(1, &[(3, 5)]);
    assert_eq!(control.rate(), (2, 20_000, true));
    assert_eq!(control.last().delivered, 2);
    pair.ack(1, &[(3, 5)]);
    assert_eq!(control.rate(), (-1, -1, false), "nothing new is delivered");
    // The cumulative point passes what was SACKed: only 1 and 2 are news, sent with the others.
    pair.ack(5, &[]);
    assert_eq!((control.rate(), control.last().delivered), ((4, 60_000, true), 2));
}

#[test]
fn a_segment_sent_again_tells_of_its_last_transmission() {
    let control = Sampled::new(10);
    let mut pair = Pair::custom(control.clone());
    pair.ack(1, &[(2, 6)]);
    assert_eq!((pair.s.view.retrans_out, control.last().losses), (1, 1), "segment 1 is lost, and on its way again");
    pair.ack(11, &[]);
    let rate = control.last().rate;
    assert_eq!((rate.prior_delivered, rate.delivered, rate.interval_us), (5, 6, 20_000));
    assert_eq!((rate.lost, rate.is_app_limited), (0, false), "it was marked before it was sent again");
}

#[test]
fn a_loss_is_told_with_what_was_in_flight_and_has_been_lost_since() {
    let control = Sampled::new(10);
    let mut pair = Pair::custom(control.clone());
    pair.ack(1, &[(4, 8)]);
    let told = || control.lost.lock().unwrap().iter().map(|l| (l.seq, l.tx_in_flight, l.lost)).collect::<Vec<_>>();
    assert_eq!(told(), [(1, 1, 1), (2, 2, 2), (3, 3, 3)]);
    assert!(control.lost.lock().unwrap()[0].is_app_limited, "what the first write sent");
    // 11 to 14 left after the retransmissions; that of segment 3 is lost, as what was sent after it arrives.
    pair.ack(3, &[(4, 15)]);
    pair.ack(3, &[(4, 16)]);
    let last = *control.lost.lock().unwrap().last().unwrap();
    assert_eq!((last.seq, last.lost, last.is_app_limited), (3, 1, false), "since it was sent again");
}

/// A sender whose application has written nothing yet.
fn idle(control: &Sampled) -> Pair {
    let spec = bulk_flow();
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let cc = crate::cc::AnyCc::Boxed(Box::new(control.clone()));
    let s = Sender::new(0, 0, &spec, stack, cc, control.needs()).streaming();
    let mut pair = Pair::of(s, LoneOutbox::new(SOURCES));
    pair.connect();
    pair
}

#[test]
fn a_loss_that_a_probe_repaired_is_told_and_the_ack_of_a_probe_known() {
    let control = Sampled::new(10);
    let mut pair = idle(&control);
    pair.s.append(4 * 1448, &mut pair.out);
    pair.ack(4, &[]);
    while pair.s.counters.tlp_probes == 0 {
        pair.out.now = pair.out.timer(0);
        pair.s.on_timer(&mut pair.out);
        pair.s.let_device_take(&mut pair.out);
    }
    assert_eq!((pair.s.counters.rto_timeouts, pair.s.counters.retransmits), (0, 1), "segment 4 again");
    pair.ack(5, &[]);
    assert!(control.last().rate.is_of_loss_probe, "it may be for either transmission");
    assert!(control.repaired.lock().unwrap().is_empty());
    pair.s.append(1448, &mut pair.out);
    pair.ack(6, &[]);
    assert!(!control.last().rate.is_of_loss_probe);
    assert_eq!(*control.repaired.lock().unwrap(), [true], "no duplicate was reported, and more is acknowledged");
}

#[test]
fn an_application_limits_only_when_it_writes() {
    let control = Sampled::new(10);
    let mut pair = idle(&control);
    pair.s.append(4 * 1448, &mut pair.out);
    assert_eq!(pair.s.window.app_limited, 1, "it had nothing to send: limited up to what is delivered now");
    pair.ack(5, &[]);
    assert_eq!((control.rate(), pair.s.window.app_limited), ((4, 20_000, true), 0), "all of that is delivered");
    // It sends nothing for a while, and then more than the window: limited when it begins, not while segments wait.
    pair.out.now += 100 * MS;
    pair.s.append(20 * 1448, &mut pair.out);
    assert_eq!(pair.s.window.app_limited, 5);
    pair.s.append(1448, &mut pair.out);
    assert_eq!((pair.s.window.app_limited, pair.s.view.in_flight()), (5, 10), "the window limits it");
    pair.ack(15, &[]);
    assert_eq!(control.rate(), (10, 20_000, true), "the time in which nothing was out does not count");
    pair.ack(25, &[]);
    assert_eq!(control.rate(), (10, 20_000, false), "sent when the bubble had been delivered");
    // One segment left, shorter than a full one: there is less to send than a segment.
    pair.ack(26, &[]);
    pair.s.append(100, &mut pair.out);
    assert_eq!(pair.s.window.app_limited, 26);
    pair.ack(27, &[]);
    assert!(control.last().rate.is_ack_delayed, "a lone short segment");
}

#[test]
fn the_ring_grows_with_the_flight() {
    let control = Sampled::new(500);
    let mut pair = Pair::custom(control.clone());
    for _ in 0..20 {
        let una = pair.s.view.snd_una;
        pair.ack(una + (pair.s.view.snd_nxt - una).min(50), &[]);
    }
    assert!(pair.s.view.packets_out > 128, "{}", pair.s.view.packets_out);
    let (una, nxt) = (pair.s.view.snd_una, pair.s.view.snd_nxt);
    pair.ack(nxt, &[]);
    let rate = control.last().rate;
    assert_eq!(rate.delivered as u32, nxt - rate.prior_delivered);
    assert!(rate.prior_delivered <= una && rate.tx_in_flight <= 500);
}
