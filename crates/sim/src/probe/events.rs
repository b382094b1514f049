//! A record of what happens to flows: ACKs, losses, marks, changes of state, and packets that ports drop. It is found by comparing a sender
//! before and after whatever may have changed it, so that the sender itself does nothing for it.

use std::any::Any;
use std::collections::{HashMap, VecDeque};

use super::schema::{Kind as Behaviour, Quantity, Source};
use crate::cc::{states_of, CaState, CongestionControl, State};
use crate::network::Watch;
use crate::output::Events;
use crate::packet::{DropCause, Packet};
use crate::segment::Segment;
use crate::spec::EventKind;
use crate::tcp::endpoint::Sender;
use crate::tcp::linux::sender as linux;
use crate::time::Time;

/// Most events of a run: some hundred bytes each.
pub const MOST: usize = 10_000_000;

/// Kinds of events, in the order of their numbers.
pub const KINDS: &[(&str, &str)] = &[
    ("ack", "an ACK arrived"),
    ("loss", "segments are deemed lost"),
    ("retransmit", "segments were retransmitted"),
    ("timeout", "the retransmission timer fired"),
    ("undo", "a reduction was taken back"),
    ("drop", "a port dropped or lost a packet of the flow"),
    ("mark", "an ACK brought ECN echoes"),
    ("state", "the congestion state, or a state of the congestion control, became another"),
];

const fn quantity(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, kind: Behaviour::Gauge, source: Source::Sim, optional: true, meaning }
}

/// The numbers of an event.
pub const COLUMNS: &[Quantity] = &[
    quantity(
        "sequence",
        "packets",
        "first segment that is not acknowledged; of a drop the first number that the packet carried",
    ),
    quantity(
        "count",
        "packets",
        "segments that the event is about: newly delivered, lost, retransmitted, marked or dropped",
    ),
    quantity("cwnd", "packets", "congestion window after the event"),
    quantity("ssthresh", "packets", "slow-start threshold after the event; none before it is set"),
    quantity("inflight", "packets", "segments in flight after the event"),
    quantity("rtt_ms", "ms", "of an ACK, the RTT that it measured; none if it measured none"),
    quantity("delivery_bps", "bit/s", "payload delivered during the last smoothed RTT, by the time of the ACKs"),
];

const ACK: u8 = 0;
const LOSS: u8 = 1;
const RETRANSMIT: u8 = 2;
const TIMEOUT: u8 = 3;
const UNDO: u8 = 4;
const DROP: u8 = 5;
const MARK: u8 = 6;
const STATE: u8 = 7;
const WIDTH: usize = COLUMNS.len();

/// Occasion on which a sender is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// An ACK has been handled.
    Ack,
    /// A timer of the sender has fired.
    Timer,
    /// Something else: it was allowed to send.
    Other,
}

/// Facts of a sender that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    una: u32,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
    retransmits: u64,
    timeouts: u64,
    probes: u64,
    undos: u64,
    state: u8,
    slow_start: bool,
    /// A number that changes with the words of the control.
    words: u32,
}

#[derive(Clone, Debug, Default)]
struct Watched {
    seen: Seen,
    /// State variables of its congestion control.
    states: &'static [State],
    /// State variables that are words, by name, as numbers.
    words: Vec<(String, f64)>,
    /// Times and totals of the deliveries of the last smoothed RTT.
    deliveries: VecDeque<(Time, u32)>,
}

/// The kinds that are recorded.
#[derive(Clone, Copy, Debug, Default)]
struct Chosen {
    acks: bool,
    losses: bool,
    marks: bool,
    state: bool,
}

/// Records events.
#[derive(Debug, Default)]
pub struct Recorder {
    chosen: Chosen,
    /// By flow; `None` for a flow that is not watched.
    flows: Vec<Option<Watched>>,
    events: Events,
    reasons: HashMap<String, u16>,
}

impl Watch for Recorder {
    fn note_drop(&mut self, now: Time, packet: Packet, port: &str, cause: Option<DropCause>) {
        if self.chosen.losses {
            self.dropped(now, &Segment::from(packet), port, cause);
        }
    }

    fn count(&self) -> usize {
        self.events.t_ns.len()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Recorder {
    /// Make a recorder of these kinds of events for the watched flows. `controls`: the congestion control of each flow, by name.
    #[must_use]
    pub fn of(kinds: &[EventKind], watched: &[usize], controls: &[&str]) -> Box<Self> {
        let [acks, losses, marks, state] =
            [EventKind::Acks, EventKind::Losses, EventKind::Marks, EventKind::State].map(|kind| kinds.contains(&kind));
        let chosen = Chosen { acks, losses, marks, state };
        let mut made = Self { chosen, flows: vec![None; controls.len()], ..Self::default() };
        for &flow in watched {
            made.flows[flow] = Some(Watched { states: states_of(controls[flow]), ..Watched::default() });
        }
        Box::new(made)
    }

    /// The record.
    #[must_use]
    pub fn finish(self) -> Events {
        self.events
    }

    /// A port dropped a packet of a flow that carries data, or of its ACKs.
    fn dropped(&mut self, now: Time, p: &Segment, port: &str, cause: Option<DropCause>) {
        let flow = p.flow();
        if !self.flows.get(flow).is_some_and(Option::is_some) {
            return;
        }
        let cause = match cause {
            Some(DropCause::Overflow) => "no room",
            Some(DropCause::Aqm) => "by the discipline",
            Some(DropCause::Blue) => "by BLUE",
            None => "on the link",
        };
        let what = if p.is_reverse() { ", an ACK" } else { "" };
        let mut row = [f64::NAN; WIDTH];
        (row[0], row[1]) = (f64::from(p.seq), 1.0);
        self.push(now, flow, DROP, row, &format!("{port}: {cause}{what}"));
    }

    /// Compares a sender with what it was.
    pub fn look(&mut self, now: Time, flow: usize, sender: &Sender, occasion: Occasion) {
        if let Sender::Linux(sender) = sender {
            self.look_at(now, flow, sender, occasion);
        }
    }

    /// Compares a sender of Linux with what it was.
    pub fn look_at(&mut self, now: Time, flow: usize, s: &linux::Sender, occasion: Occasion) {
        let Some(Some(watched)) = self.flows.get_mut(flow) else { return };
        let (v, w, c) = (&s.view, &s.window, &s.counters);
        let before = watched.seen;
        let seen = Seen {
            una: v.snd_una,
            delivered: v.delivered,
            delivered_ce: v.delivered_ce,
            lost: v.lost,
            retransmits: c.retransmits,
            timeouts: c.rto_timeouts,
            probes: c.tlp_probes,
            undos: c.undos,
            state: v.state as u8,
            slow_start: w.in_slow_start(v),
            words: s.congestion_control().words(),
        };
        if seen == before && occasion != Occasion::Ack {
            return;
        }
        watched.seen = seen;
        let delivered = seen.delivered.wrapping_sub(before.delivered);
        if delivered > 0 {
            watched.deliveries.push_back((now, seen.delivered));
            let span = u64::from(v.srtt_us8 >> 3) * 1000;
            while watched.deliveries.len() > 2 && watched.deliveries[1].0 + span <= now {
                watched.deliveries.pop_front();
            }
        }
        let rate = match (watched.deliveries.front(), watched.deliveries.back()) {
            (Some(first), Some(last)) if last.0 > first.0 => {
                f64::from(last.1 - first.1) * f64::from(v.mss) * 8e9 / (last.0 - first.0) as f64
            }
            _ => f64::NAN,
        };
        let ssthresh = if w.ssthresh == crate::cc::INFINITE_SSTHRESH { f64::NAN } else { f64::from(w.ssthresh) };
        let row = |count: f64, rtt_ms: f64| {
            [f64::from(seen.una), count, f64::from(w.cwnd), ssthresh, f64::from(v.in_flight()), rtt_ms, rate]
        };
        let none = f64::NAN;
        if occasion == Occasion::Ack && self.chosen.acks {
            let measured = if delivered > 0 { f64::from(s.rtt.last_us()) / 1e3 } else { none };
            let why = if seen.una != before.una {
                ""
            } else if delivered > 0 {
                "SACK"
            } else {
                "nothing new"
            };
            self.push(now, flow, ACK, row(f64::from(delivered), measured), why);
        }
        if self.chosen.losses {
            self.note_losses(now, flow, occasion, (before, seen), row);
        }
        let marked = seen.delivered_ce.wrapping_sub(before.delivered_ce);
        if self.chosen.marks && marked > 0 {
            self.push(now, flow, MARK, row(f64::from(marked), none), "");
        }
        if self.chosen.state {
            if seen.state != before.state {
                self.push(
                    now,
                    flow,
                    STATE,
                    row(none, none),
                    &format!("{} -> {}", named(before.state), named(seen.state)),
                );
            }
            if before.slow_start && !seen.slow_start && seen.state == CaState::Open as u8 {
                self.push(now, flow, STATE, row(none, none), "slow start ends");
            }
            if seen.words != before.words || before == Seen::default() {
                for change in self.changed_words(flow, s) {
                    self.push(now, flow, STATE, row(none, none), &change);
                }
            }
        }
    }

    fn note_losses(
        &mut self,
        now: Time,
        flow: usize,
        occasion: Occasion,
        (before, seen): (Seen, Seen),
        row: impl Fn(f64, f64) -> [f64; WIDTH],
    ) {
        let lost = seen.lost.wrapping_sub(before.lost);
        let timed_out = seen.timeouts != before.timeouts;
        if timed_out {
            self.push(now, flow, TIMEOUT, row(f64::NAN, f64::NAN), "");
        }
        if lost > 0 {
            let why = match occasion {
                _ if timed_out => "timeout",
                Occasion::Ack => "by ACKs",
                Occasion::Timer => "by time (reordering timer)",
                Occasion::Other => "by a local drop",
            };
            self.push(now, flow, LOSS, row(f64::from(lost), f64::NAN), why);
        }
        let again = seen.retransmits - before.retransmits;
        if again > 0 {
            let why = if seen.probes != before.probes { "tail loss probe" } else { "" };
            self.push(now, flow, RETRANSMIT, row(again as f64, f64::NAN), why);
        }
        if seen.undos != before.undos {
            self.push(now, flow, UNDO, row(f64::NAN, f64::NAN), "the losses were none");
        }
    }

    /// Return the changes of the control's words, as `mode startup -> drain`.
    fn changed_words(&mut self, flow: usize, s: &linux::Sender) -> Vec<String> {
        let control = s.congestion_control();
        let Some(Some(watched)) = self.flows.get_mut(flow) else { return vec![] };
        let states = watched.states;
        let words = |name: &str| states.iter().find(|each| each.name == name && !each.words.is_empty());
        let mut now = vec![];
        control.state(&s.view, &s.window, &mut |name, value| {
            if words(name).is_some() {
                now.push((name.to_owned(), value));
            }
        });
        let word = |name: &str, value: f64| words(name).and_then(|each| each.words.get(value as usize).copied());
        let mut changes = vec![];
        for (name, value) in &now {
            let old = watched.words.iter().find(|(each, _)| each == name).map(|(_, old)| *old);
            if old != Some(*value) {
                let text = |value: Option<f64>| {
                    value.map_or_else(
                        || "none".to_owned(),
                        |value| word(name, value).map_or_else(|| value.to_string(), ToOwned::to_owned),
                    )
                };
                changes.push(format!("{name} {} -> {}", text(old), text(Some(*value))));
            }
        }
        watched.words = now;
        changes
    }

    fn push(&mut self, now: Time, flow: usize, kind: u8, row: [f64; WIDTH], reason: &str) {
        let next = self.reasons.len() as u16;
        let reason = match self.reasons.get(reason) {
            Some(&known) => known,
            // The last number stands for all that come after.
            None if next == u16::MAX => next - 1,
            None => {
                self.reasons.insert(reason.to_owned(), next);
                self.events.reasons.push(reason.to_owned());
                next
            }
        };
        let events = &mut self.events;
        events.t_ns.push(now as i64);
        events.flow.push(flow as u32);
        events.kind.push(kind);
        events.reason.push(reason);
        events.values.extend(row);
    }
}

/// The name of a congestion state.
fn named(state: u8) -> &'static str {
    ["open", "disorder", "CWR", "recovery", "loss"][usize::from(state)]
}
