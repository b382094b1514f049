//! The calls by which TCP tells a module of congestion control what happens, and what TCP does around them (tag releng/9.3 sys/netinet/tcp_input.c r260435,
//! `cc_ack_received`, `cc_conn_init`, `cc_cong_signal`, `cc_post_recovery`; cc(4), mod_cc(4)).

use super::cdg::{Outcome, Queue};
use super::ertt::Heard;
use super::modules::Module;
use super::newreno::Ack;
use super::sender::Sender;
use crate::catalogue::Tell;
use crate::packet::MSS;
use crate::rng::Rng;
use crate::segment::Segment;
use crate::tcp::common::lazy_timer::Ticks;
use crate::time::{Time, MS};

impl Sender {
    /// With a random stream of its own: the run's seed, and which connection of the run it is.
    #[must_use]
    pub fn seeded(mut self, seed: [u64; 2]) -> Self {
        if let Module::Cdg(cdg) = &mut self.module {
            cdg.seed(Rng::for_component(seed[0], &format!("cc/{}", seed[1])));
        }
        self
    }

    /// connect().
    pub(super) fn start_module(&mut self, now: Time) {
        if let Module::Cubic(cubic) = &mut self.module {
            cubic.start(self.clock.tick(now));
        }
    }

    /// The connection is established, with its first window.
    pub(super) fn init_module(&mut self) {
        match &mut self.module {
            Module::NewReno => {}
            Module::Cubic(cubic) => cubic.init(&self.window),
            Module::Cdg(cdg) => cdg.init(&self.window),
        }
    }

    /// A segment with data leaves (`HHOOK_TCP_EST_OUT`).
    pub(super) fn tell_of_segment(&mut self, p: &Segment) {
        if let Module::Cdg(cdg) = &mut self.module {
            cdg.on_sent(p.seq, self.layout.payload(p.seq), p.tsval, p.tsecr);
        }
    }

    /// An ACK arrives (`HHOOK_TCP_EST_IN`); `last_sack`: the end of the highest block that the scoreboard took in.
    pub(super) fn tell_of_ack(&mut self, p: &Segment, last_sack: Option<u32>, now: Time) {
        let Module::Cdg(cdg) = &mut self.module else { return };
        let bytes = if p.seq < self.snd_una { -1 } else { self.layout.span(self.snd_una, p.seq) as i64 };
        let now_ms = (now / MS) as u32;
        cdg.on_heard(&Heard { ack: p.seq, bytes, last_sack, tsval: p.tsval, tsecr: p.tsecr, now_ms });
    }

    /// `cc_ack_received`: an ACK of `bytes` new ones, or a duplicate one.
    pub(super) fn cc_ack_received(&mut self, bytes: Option<u64>, now: Time) {
        let after_timeout = self.going_back();
        if let (Module::NewReno, Some(bytes)) = (&self.module, bytes) {
            return self.window.ack_received(bytes, self.snd_wnd, after_timeout);
        }
        let ack = Ack {
            is_new: bytes.is_some(),
            bytes: bytes.unwrap_or(0),
            snd_wnd: self.snd_wnd,
            after_timeout,
            tick: self.clock.tick(now),
            srtt_ticks: self.rtt.srtt_ticks(),
            rtt_samples: self.rtt.samples,
        };
        if let Some(bytes) = bytes {
            self.window.count(bytes);
        }
        match &mut self.module {
            Module::NewReno => {}
            Module::Cubic(cubic) => cubic.ack_received(&mut self.window, &ack),
            Module::Cdg(cdg) => {
                if cdg.ack_received(&mut self.window, &ack) == Outcome::BackedOff {
                    self.counters.cwnd_reductions += 1;
                    self.snd_recover = self.snd_max;
                }
            }
        }
    }

    /// `CC_NDUPACK`: three duplicate ACKs.
    pub(super) fn cc_loss(&mut self) {
        self.counters.cwnd_reductions += u64::from(!self.window.cong_recovery);
        self.snd_recover = self.snd_max;
        self.ecn.has_reduced();
        match &mut self.module {
            Module::NewReno => self.window.enter_recovery(),
            Module::Cubic(cubic) => cubic.on_loss(&mut self.window),
            Module::Cdg(cdg) => cdg.on_loss(&mut self.window, self.snd_wnd),
        }
    }

    /// `CC_ECN`: an ACK with an ECN echo.
    pub(super) fn cc_mark(&mut self, now: Time) {
        if self.window.cong_recovery {
            return;
        }
        self.counters.cwnd_reductions += 1;
        self.snd_recover = self.snd_max;
        self.ecn.has_reduced();
        let tick = self.clock.tick(now);
        match &mut self.module {
            Module::Cubic(cubic) => cubic.on_mark(&mut self.window, tick),
            Module::NewReno | Module::Cdg(_) => self.window.on_mark(),
        }
    }

    /// `CC_RTO`: a retransmission timeout.
    pub(super) fn cc_timeout(&mut self, now: Time) {
        self.window.on_timeout(self.snd_wnd);
        if let Module::Cubic(cubic) = &mut self.module {
            cubic.on_timeout(self.rtt.shift, self.clock.tick(now));
        }
    }

    /// `cc_post_recovery`: everything that was out is acknowledged, and `outstanding` bytes were sent since.
    pub(super) fn cc_post_recovery(&mut self, outstanding: u64, now: Time) {
        match &mut self.module {
            Module::Cubic(cubic) => {
                cubic.post_recovery(&mut self.window, outstanding, self.clock.tick(now));
                self.window.forget_bytes();
            }
            Module::NewReno | Module::Cdg(_) => self.window.post_recovery(outstanding),
        }
    }

    /// Tells the state of the module, by the names that Linux's controls have where they mean the same.
    pub(super) fn tell_module(&self, tell: &mut Tell) {
        let segments = |bytes: u64| bytes as f64 / f64::from(MSS);
        match &self.module {
            Module::NewReno => {}
            Module::Cubic(cubic) => {
                tell("w_max", segments(cubic.max_cwnd()));
                tell("k_s", cubic.k_s());
            }
            Module::Cdg(cdg) => {
                // Linux's words: unknown, non-full, full.
                let queue = match cdg.queue() {
                    Queue::Unknown => 0.0,
                    Queue::Empty | Queue::Rising | Queue::Falling => 1.0,
                    Queue::Full => 2.0,
                };
                tell("queue_state", queue);
                let [min, max] = cdg.gradients_ms();
                tell("gradient_min_us", min * 1000.0);
                tell("gradient_max_us", max * 1000.0);
                tell("shadow_cwnd", segments(cdg.shadow()));
                tell("backoffs", f64::from(cdg.backoffs()));
            }
        }
    }
}
