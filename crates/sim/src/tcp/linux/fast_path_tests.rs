//! The fast paths end where the full ones do: the same connection over the same path, once as it is and once with every packet disguised, so
//! that it takes the full path but means the same (an ACK has an empty list of SACK blocks, data says that it was sent before).

use std::collections::VecDeque;

use proptest::prelude::*;

use crate::attachment::Attachment;
use crate::cc::CONTROLS;
use crate::outbox::LoneOutbox;
use crate::outbox::Outbox;
use crate::packet::{Ecn, NO_ATTACHMENT};
use crate::segment::{flags, Segment};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::receiver::{self, Receiver};
use crate::tcp::linux::sender::{Pending, Sender};
use crate::tcp::linux::stack::STACKS;
use crate::tcp::linux::test_ends::ends;
use crate::time::{Time, MS, US};

/// Fate of a data packet on its way.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    Marked,
    /// Arrives after the next one.
    Late,
    /// Takes so long that what is retransmitted for it overtakes it.
    Overtaken,
}

/// Everything that is compared: every packet sent, and when; what the sender's timer is set for after each arrival; the state of both ends and the
/// scoreboard when the time is up.
#[derive(Debug, PartialEq)]
struct Course {
    sent: Vec<String>,
    timers: Vec<(Time, Pending, Option<u64>)>,
    state: String,
    board: Vec<String>,
}

struct Path {
    out: LoneOutbox,
    s: Sender,
    r: Receiver,
    /// Packets under way, by direction, with the time of their arrival.
    data: VecDeque<(Time, Segment)>,
    overtaken: VecDeque<(Time, Segment)>,
    acks: VecDeque<(Time, Segment)>,
    /// How many packets took the fast path at either end.
    fast: [u32; 2],
    disguise: bool,
}

const DELAY: Time = 10 * MS;
/// Delay of a packet that is overtaken.
const LONG_DELAY: Time = 60 * MS;
/// Time of a packet on the line, and how many wait for it at most.
const SPACING: Time = 400 * US;
const LIMIT: usize = 90;

impl Path {
    fn new(stack: &str, cc: &str, ecn: bool, tso: bool, disguise: bool) -> Self {
        let mut spec = bulk_flow();
        (spec.ecn, spec.sce_echo, spec.host.tso) = (ecn, cc.ends_with("sce"), tso);
        let (s, r, out) = ends(&spec, stack, cc);
        let [data, overtaken, acks] = [(); 3].map(|()| VecDeque::new());
        Self { out, s, r, data, overtaken, acks, fast: [0; 2], disguise }
    }

    /// Puts on its way what the ends have sent.
    fn carry(&mut self, fates: &mut impl Iterator<Item = Fate>, sent: &mut Vec<String>) {
        let now = self.out.now;
        for mut p in self.out.take_sent() {
            let blocks = self.out.blocks(&p);
            sent.push(format!("{now} {:?} {:?}", Segment { attachment: NO_ATTACHMENT, ..p }, blocks.as_slice()));
            if p.is_reverse() {
                self.acks.push_back((now + DELAY, p));
                continue;
            }
            let arrives = self.data.back().map_or(0, |last| last.0).max(now + DELAY) + SPACING;
            match fates.next().unwrap_or(Fate::Arrives) {
                Fate::Lost => continue,
                _ if self.data.len() > LIMIT => continue,
                Fate::Marked if p.ecn() == Ecn::Ect0 => p.set_ecn(Ecn::Ce),
                Fate::Late => {
                    if let Some(last) = self.data.back_mut() {
                        std::mem::swap(&mut last.1, &mut p);
                    }
                }
                Fate::Overtaken => {
                    self.overtaken.push_back((now + LONG_DELAY, p));
                    continue;
                }
                Fate::Arrives | Fate::Marked => {}
            }
            self.data.push_back((arrives, p));
        }
    }

    fn deliver_data(&mut self, mut p: Segment) {
        if self.disguise {
            p.flags |= flags::RETRANSMISSION;
        }
        self.fast[1] += u32::from(self.r.takes_fast_path(&p));
        self.r.on_packet(&p, &mut self.out);
    }

    fn deliver_ack(&mut self, mut p: Segment) {
        if self.disguise && p.attachment == NO_ATTACHMENT {
            p.attachment = self.out.attach(Attachment::default());
        }
        self.fast[0] += u32::from(self.s.takes_fast_path(&p));
        self.s.on_ack(&p, &mut self.out);
    }

    fn run(&mut self, fates: &[Fate]) -> Course {
        let (mut sent, mut timers, mut fates) = (vec![], vec![], fates.iter().copied());
        self.s.connect(&mut self.out);
        self.carry(&mut fates, &mut sent);
        loop {
            let timer = self.out.next_timer().map_or(Time::MAX, |(time, _)| time);
            let data = self.data.front().map_or(Time::MAX, |next| next.0);
            let overtaken = self.overtaken.front().map_or(Time::MAX, |next| next.0);
            let ack = self.acks.front().map_or(Time::MAX, |next| next.0);
            self.out.now = timer.min(data).min(overtaken).min(ack);
            if self.out.now > 1500 * MS {
                break;
            }
            if timer == self.out.now {
                match self.out.next_timer() {
                    Some((_, receiver::SOURCES)) => self.s.on_timer(&mut self.out),
                    Some((_, which)) if which > receiver::SOURCES => self.s.on_departure_timer(&mut self.out),
                    Some((_, which)) => self.r.on_timer(which, &mut self.out),
                    None => unreachable!("its time is known"),
                }
            } else if data == self.out.now {
                let (_, p) = self.data.pop_front().unwrap();
                self.deliver_data(p);
            } else if overtaken == self.out.now {
                let (_, p) = self.overtaken.pop_front().unwrap();
                self.deliver_data(p);
            } else {
                let (_, p) = self.acks.pop_front().unwrap();
                self.deliver_ack(p);
                // The event of a lazy timer may come before the timer expires, and at another time: only when it expires is compared.
                timers.push((self.out.now, self.s.timer.pending(), self.s.timer.expires(&self.s.clock)));
            }
            self.carry(&mut fates, &mut sent);
        }
        let in_flight = self.s.view.snd_una..self.s.view.snd_nxt;
        Course {
            sent,
            timers,
            board: in_flight.map(|segment| format!("{segment} {:?}", self.s.board.get(segment))).collect(),
            state: format!("{:?} {:?} {:?} {:?}", self.s.view, self.s.window, self.s.counters, self.r.counters()),
        }
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        60 => Just(Fate::Arrives),
        1 => Just(Fate::Lost),
        2 => Just(Fate::Marked),
        1 => Just(Fate::Late),
        1 => Just(Fate::Overtaken),
    ]
}

#[test]
fn the_fast_paths_are_taken() {
    for stack in ["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6"] {
        let mut path = Path::new(stack, "cubic", false, true, false);
        path.run(&[]);
        assert!(path.fast[1] > 50, "{stack}: {:?}", path.fast);
        // Linux 3.9 and before send no tail loss probes, which the fast path of an ACK relies upon.
        assert_eq!(path.fast[0] > 50, !["linux-3.9", "linux-2.6"].contains(&stack), "{stack}: {:?}", path.fast);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_fast_paths_end_where_the_full_ones_do(
        stack in prop::sample::select(vec!["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6"]),
        cc in prop::sample::select(CONTROLS.iter().map(|control| control.name).collect::<Vec<_>>()),
        ecn: bool,
        tso: bool,
        fates in prop::collection::vec(fate(), 0..1500),
    ) {
        let since = CONTROLS.iter().find(|control| control.name == cc).map(|control| control.since);
        prop_assume!(STACKS.iter().any(|known| known.name == stack && since <= Some(known.version)));
        let ecn = ecn || cc.starts_with("dctcp");
        let mut fast = Path::new(stack, cc, ecn, tso, false);
        let mut full = Path::new(stack, cc, ecn, tso, true);
        let (a, b) = (fast.run(&fates), full.run(&fates));
        for (x, y) in a.sent.iter().zip(&b.sent) {
            prop_assert_eq!(x, y);
        }
        prop_assert_eq!(a.sent.len(), b.sent.len());
        for (x, y) in a.timers.iter().zip(&b.timers) {
            prop_assert_eq!(x, y);
        }
        prop_assert_eq!(a.timers.len(), b.timers.len());
        prop_assert_eq!(a.board, b.board);
        prop_assert_eq!(a.state, b.state);
        prop_assert_eq!(full.fast, [0, 0]);
    }
}
