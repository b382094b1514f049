//! A cake with several tins: which one a packet's DSCP puts it in, and which one is served next (Linux 6.12 net/sched/sch_cake.c,
//! `cake_select_tin`, `cake_config_diffserv3`, `cake_config_diffserv4`, `cake_dequeue`). Each tin is a cake of its own without a shaper; one
//! shaper paces them all. A tin has a schedule at its share of the rate: the last one that is within its schedule goes first, and when none
//! is, the one whose turn comes first.
//!
//! Leaves out: diffserv8, precedence, tins by marks or by priority; the order of a heap that is out of date when the memory limit is exceeded
//! (the fattest queue of all tins loses its head).

use super::shaper::Shaper;
use super::Cake;
use crate::packet::{DropCause, Packet, Verdict};
use crate::pool::{self, Id, Pool};
use crate::qdisc::{Dequeued, Qdisc, QdiscStats, QdiscVisitor, QueueContext};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{CakeDiffserv, QdiscSpec};
use crate::time::{Time, NEVER};

/// Codepoints.
const CODEPOINTS: usize = 64;
/// Bytes that all tins together get a round where no rate tells when a tin's turn is.
const QUANTUM: i32 = 1024;

/// A kind of tins.
struct Scheme {
    /// The tin of each codepoint.
    tins: [u8; CODEPOINTS],
    /// The share of the rate that each has first claim on, as shifts.
    shifts: &'static [u32],
}

/// Best effort, low priority (LE, CS1), latency sensitive (CS7, CS6, VA, EF, TOS4).
static DIFFSERV3: Scheme = Scheme { tins: table(&[1, 8], &[4, 44, 46, 48, 56], &[]), shifts: &[0, 4, 2] };
/// Best effort, background (LE, CS1), media (AF4x, AF3x, CS3, AF2x, TOS4, CS2), latency sensitive (CS7, CS6, EF, VA, CS5, CS4).
static DIFFSERV4: Scheme = Scheme {
    tins: table(&[1, 8], &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38], &[32, 40, 44, 46, 48, 56]),
    shifts: &[0, 4, 1, 2],
};

/// The tin of each codepoint: those that are listed are in tin 1, 2 and 3.
const fn table(first: &[u8], second: &[u8], third: &[u8]) -> [u8; CODEPOINTS] {
    let mut tins = [0; CODEPOINTS];
    let lists = [first, second, third];
    let mut tin = 0;
    while tin < lists.len() {
        let mut i = 0;
        while i < lists[tin].len() {
            tins[lists[tin][i] as usize] = tin as u8 + 1;
            i += 1;
        }
        tin += 1;
    }
    tins
}

/// A tin.
#[derive(Clone, Debug)]
struct Tin {
    /// Its queues, with parameters for its share of the rate.
    cake: Cake,
    /// When its next packet is on schedule.
    schedule: Shaper,
    /// Without a rate: what it may send before the others have their turn, and what it gets a round, bytes.
    deficit: i32,
    quantum: i32,
}

/// A cake with tins.
#[derive(Clone, Debug)]
pub struct CakeTins {
    diffserv: CakeDiffserv,
    tins: Vec<Tin>,
    /// The tin that is served, where no rate tells when a tin's turn is.
    current: usize,
    shaper: Shaper,
    memory_limit: u64,
    /// The packet that a peek dequeued, and its length (see [`crate::qdisc::peek_buffer`]).
    peek_buffer: Option<(Id, u32)>,
    stats: QdiscStats,
}

impl CakeDiffserv {
    fn scheme(self) -> &'static Scheme {
        match self {
            Self::Diffserv4 => &DIFFSERV4,
            Self::Besteffort | Self::Diffserv3 => &DIFFSERV3,
        }
    }
}

impl Tin {
    /// Its parameters for the `shift`-th part of the rate of all.
    fn set_rate(&mut self, rate: Option<u64>, shift: u32) {
        let share = rate.map(|rate| rate >> shift);
        self.schedule = self.schedule.at_rate(share);
        self.cake.take_parameters(share);
    }

    /// The queue whose last packet is this one.
    fn queue_of_newest(&self, id: Id, packets: &Pool) -> usize {
        let newest = &packets[id].packet;
        let mut queues = self.cake.drr.queues.iter();
        let found = queues.position(|q| q.packets.iter(packets).last().is_some_and(|last| std::ptr::eq(last, newest)));
        found.expect("the packet was just queued")
    }

    /// Its empty queues are found so at their turn: they go out of service, or decay first.
    fn retire_empty(&mut self, s: &mut QueueContext) {
        while self.is_in_service() {
            let Some(queue) = self.cake.drr.select(&mut false, &mut s.rngs[s.port]) else { return };
            self.cake.drr.retire(queue, &self.cake.cobalt, s.now);
        }
    }

    /// It has queues whose turn may come.
    fn is_in_service(&self) -> bool {
        self.cake.drr.is_in_service()
    }
}

impl CakeTins {
    /// Builds a cake with the tins of `diffserv` from its `QdiscSpec::Cake`; see [`Cake::from_spec`].
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn from_spec(spec: &QdiscSpec, diffserv: CakeDiffserv, frame: u32, rng: &mut Rng) -> Result<Self, Flaws> {
        let whole = Cake::from_spec(spec, frame, rng)?;
        let (shaper, memory_limit) = (whole.shaper.clone(), whole.memory_limit);
        let QdiscSpec::Cake { rate_bps, .. } = *spec else { unreachable!("the discipline is a cake") };
        let rate = rate_bps.map(|bps| bps / 8);
        let tins = diffserv.scheme().shifts.iter().map(|shift| {
            let mut tin = Tin { cake: whole.clone(), schedule: shaper.clone(), deficit: 0, quantum: QUANTUM >> shift };
            tin.set_rate(rate, *shift);
            tin
        });
        Ok(Self {
            diffserv,
            tins: tins.collect(),
            current: 0,
            shaper,
            memory_limit,
            peek_buffer: None,
            stats: QdiscStats::default(),
        })
    }

    /// Changes the shaper's rate, bit/s; see [`Cake::set_rate`].
    pub fn set_rate(&mut self, rate_bps: u64) {
        let rate = Some(rate_bps / 8);
        self.shaper = self.shaper.at_rate(rate);
        for (tin, shift) in self.tins.iter_mut().zip(self.diffserv.scheme().shifts) {
            tin.set_rate(rate, *shift);
        }
        self.memory_limit = self.tins[0].cake.nominal.memory_limit(rate);
    }

    fn held(&self) -> usize {
        self.tins.iter().map(|tin| tin.cake.packets).sum()
    }

    fn memory(&self) -> u64 {
        self.tins.iter().map(|tin| tin.cake.memory).sum()
    }

    /// Drops heads of the fattest queues until the memory limit holds; true if queue `arrived`, of a tin, lost a packet.
    #[cold]
    #[inline(never)]
    fn shed(&mut self, arrived: (usize, usize), s: &mut QueueContext) -> bool {
        let mut hit = false;
        while self.memory() > self.memory_limit {
            let queues = self.tins.iter().zip(0..).flat_map(|(tin, t)| {
                tin.cake.drr.queues.iter().zip(0..).map(move |(queue, q)| (queue.backlog, (t, q)))
            });
            // Of several that are alike the first.
            let fattest = queues.reduce(|most, each| if each.0 > most.0 { each } else { most });
            let Some((_, (t, q))) = fattest else { break };
            hit |= (t, q) == arrived;
            let cake = &mut self.tins[t].cake;
            let queue = &mut cake.drr.queues[q];
            let Some(id) = queue.packets.pop(&s.packets) else { break };
            let len = s.packets[id].bytes();
            queue.backlog -= len;
            queue.cobalt.on_overflow(&cake.cobalt, s.now);
            cake.forget(len);
            s.dropped.push((id, DropCause::Overflow));
        }
        hit
    }

    /// The tin to serve at `now`, if one has queues in service.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_in_service) {
            return None;
        }
        if self.shaper.is_limited() {
            return self.choose_by_schedule(now);
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_in_service() {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    fn choose_by_schedule(&self, now: Time) -> Option<usize> {
        let mut best = None;
        let mut earliest = NEVER;
        for (i, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_in_service()) {
            let next = tin.schedule.next();
            if next <= now || next <= earliest {
                (best, earliest) = (Some(i), next);
            }
        }
        best
    }

    /// Takes the next packet out of the tins.
    fn next(&mut self, s: &mut QueueContext) -> Dequeued {
        loop {
            if self.held() == 0 {
                return Dequeued::Empty;
            }
            if self.shaper.next() > s.now {
                return Dequeued::Wait(self.shaper.next());
            }
            let Some(t) = self.choose(s.now) else { return Dequeued::Empty };
            let tin = &mut self.tins[t];
            if tin.cake.packets == 0 {
                tin.retire_empty(s);
                continue;
            }
            let Dequeued::Packet(id) = tin.cake.next(s) else { unreachable!("a tin with packets gives one") };
            let charged = tin.cake.framing.charged(s.packets[id].bytes());
            tin.deficit -= charged as i32;
            tin.schedule.follow(charged, s.now);
            self.shaper.advance(charged);
            let stats = self.tins.iter().map(|tin| &tin.cake.stats);
            let marks = stats.fold((0, 0), |(ce, sce), each| (ce + each.ce_marks, sce + each.sce_marks));
            (self.stats.ce_marks, self.stats.sce_marks) = marks;
            self.stats.last_sojourn = self.tins[t].cake.stats.last_sojourn;
            return Dequeued::Packet(id);
        }
    }
}

impl Qdisc for CakeTins {
    // All in functions of their own: one copy more of what a cake does would change which parts of it are inlined.
    #[cold]
    #[inline(never)]
    fn accept<V: QdiscVisitor>(&mut self, visitor: V) -> V::Output {
        visitor.visit(self)
    }

    #[cold]
    #[inline(never)]
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let dscp = s.tuples[s.packets[id].packet.flow()].dscp;
        let t = usize::from(self.diffserv.scheme().tins[usize::from(dscp) % CODEPOINTS]);
        let waits = self.held() > 0;
        let tin = &mut self.tins[t];
        if tin.cake.packets == 0 {
            tin.schedule.restart(s.now);
            if !waits {
                self.shaper.restart(s.now);
            }
        }
        tin.cake.enqueue(id, s);
        if self.memory() <= self.memory_limit {
            return Verdict::Queued;
        }
        let queue = self.tins[t].queue_of_newest(id, &s.packets);
        if !self.shed((t, queue), s) {
            Verdict::Queued
        } else if self.tins[t].cake.drr.queues[queue].packets.is_empty() {
            Verdict::Dropped
        } else {
            Verdict::Congestion
        }
    }

    #[cold]
    #[inline(never)]
    fn release(&mut self, s: &mut QueueContext, leaving: &mut pool::Queue) -> Time {
        if let Some((id, _)) = self.peek_buffer.take() {
            leaving.push(id, &mut s.packets);
        }
        loop {
            match self.next(s) {
                Dequeued::Packet(id) => leaving.push(id, &mut s.packets),
                Dequeued::Wait(t) => return t,
                Dequeued::Empty => return NEVER,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        match self.peek_buffer.take() {
            Some((id, _)) => Dequeued::Packet(id),
            None => self.next(s),
        }
    }

    #[cold]
    #[inline(never)]
    fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
        if self.peek_buffer.is_none() {
            if let Dequeued::Packet(id) = self.next(s) {
                self.peek_buffer = Some((id, s.packets[id].bytes()));
            }
        }
        self.peek_buffer.map(|(_, len)| len)
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.peek_buffer.iter().for_each(|&(id, _)| f(&packets[id].packet));
        self.tins.iter().for_each(|tin| tin.cake.for_each(packets, f));
    }

    fn shapes_itself(&self) -> bool {
        self.shaper.is_limited()
    }

    fn packets(&self) -> usize {
        self.held() + usize::from(self.peek_buffer.is_some())
    }

    fn bytes(&self) -> u64 {
        let held: u64 = self.tins.iter().map(|tin| tin.cake.bytes).sum();
        held + self.peek_buffer.map_or(0, |(_, len)| u64::from(len))
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}
