//! Causes that held a sender back, as shares of time, from a capture at its end.
//!
//! After each packet one of these is the case until the next:
//! - nothing is in flight, or the last segment was a short one with room for more: the *application* had nothing to send;
//! - the advertised window has no room for a segment: the *receiver*;
//! - retransmissions are under way: *congestion*;
//! - data flow. The cause is judged by rounds, from a segment to its ACK. It is the *sender's* buffer (or a congestion control that holds
//!   its window), if the data in flight were the maximum that they ever were, within a segment, for [`STEADY`] rounds in a row without a
//!   loss or an echo of a mark, and never were more later. Otherwise it is *congestion*, i.e. the congestion window.
//!
//! The classes are those of Siekkinen et al., "A root cause analysis toolkit for TCP" (Computer Networks 52, 2008); the rule of rounds is
//! dumbbell's own. Linux's own numbers (tcp_info's busy, rwnd_limited, sndbuf_limited) are known to the sender alone.

/// Rounds that make a level of data in flight steady. A window that grows by a segment a round leaves its level after two; cubic's stays within a
/// segment for longer near its last maximum, and leaves it later.
const STEADY: u32 = 8;

/// State between two packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the connection is open, and after its FIN is acknowledged.
    #[default]
    Closed,
    Idle,
    Short,
    Receiver,
    Recovery,
    Flowing,
}

/// Situation after a packet.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Data in flight, bytes.
    pub flight: i64,
    /// Room in the advertised window, bytes; None if windows are not known.
    pub room: Option<i64>,
    /// The minimum that a full segment has, bytes.
    pub segment: i64,
    /// The highest ACK.
    pub una: i64,
    /// The highest number sent.
    pub top: i64,
    /// The last segment was smaller than a full one.
    pub short: bool,
    /// The FIN is acknowledged.
    pub closed: bool,
}

/// Time that each cause held a sender back, ns, and the evidence for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// By the application.
    pub application_ns: i64,
    /// By the receiver's window.
    pub receiver_ns: i64,
    /// By its own buffer.
    pub sender_ns: i64,
    /// By the congestion window.
    pub congestion_ns: i64,
    /// Rounds with retransmissions or echoes of marks.
    pub episodes: u64,
    /// Times that the application had nothing.
    pub pauses: u64,
    /// Times that the window was full.
    pub closings: u64,
    /// The most data in flight at the end of a round, bytes.
    pub level: i64,
    /// Rounds at that level.
    pub rounds: u64,
}

/// The state of the judgement. Times are in ns.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    held: Held,
    state: State,
    since_ns: i64,
    recovery: i64,
    round_end: i64,
    round_flight: i64,
    round_ns: i64,
    round_lossy: bool,
    /// Rounds at the level in a row, and their time.
    run: (u32, i64),
    /// Time of runs before, that were steady.
    steady_ns: i64,
    steady_rounds: u64,
}

impl Limits {
    /// Something was lost: all data sent until `top` is acknowledged are recovery.
    pub fn loss(&mut self, top: i64) {
        self.recovery = self.recovery.max(top);
        self.round_lossy = true;
    }

    /// The receiver echoes a mark.
    pub fn mark(&mut self) {
        self.round_lossy = true;
    }

    /// Take in the time of a packet and the situation after it.
    pub fn step(&mut self, time_ns: i64, now: &Situation) {
        self.pass(time_ns);
        self.round_flight = self.round_flight.max(now.flight);
        if now.una >= self.round_end {
            self.end_round(now.segment);
            self.round_end = now.top;
        }
        let full = now.room.is_some_and(|room| room < now.segment);
        let next = match now {
            Situation { closed: true, .. } => State::Closed,
            Situation { flight: ..=0, .. } if full => State::Receiver,
            Situation { flight: ..=0, .. } => State::Idle,
            Situation { una, .. } if *una < self.recovery => State::Recovery,
            _ if full => State::Receiver,
            Situation { short: true, .. } => State::Short,
            _ => State::Flowing,
        };
        if next != self.state {
            self.held.pauses += u64::from(next == State::Idle);
            self.held.closings += u64::from(next == State::Receiver);
        }
        self.state = next;
    }

    fn pass(&mut self, time_ns: i64) {
        let passed_ns = (time_ns - self.since_ns).max(0);
        match self.state {
            State::Closed => {}
            State::Idle | State::Short => self.held.application_ns += passed_ns,
            State::Receiver => self.held.receiver_ns += passed_ns,
            State::Recovery => self.held.congestion_ns += passed_ns,
            State::Flowing => self.round_ns += passed_ns,
        }
        self.since_ns = if self.state == State::Closed { time_ns } else { self.since_ns.max(time_ns) };
    }

    fn end_round(&mut self, segment: i64) {
        let (flight, passed_ns) = (std::mem::take(&mut self.round_flight), std::mem::take(&mut self.round_ns));
        let level = self.held.level;
        if std::mem::take(&mut self.round_lossy) {
            self.held.episodes += 1;
            // The path could not take more than the level of this run.
            self.held.congestion_ns += passed_ns + self.run.1;
            self.run = (0, 0);
            self.held.level = level.max(flight);
        } else if flight > level + segment {
            self.held.congestion_ns += passed_ns + self.run.1 + self.steady_ns;
            (self.run, self.steady_ns, self.steady_rounds, self.held.level) = ((0, 0), 0, 0, flight);
        } else if flight >= level - segment && flight > segment {
            self.run = (self.run.0 + 1, self.run.1 + passed_ns);
        } else {
            self.end_run();
            self.held.congestion_ns += passed_ns;
        }
    }

    fn end_run(&mut self) {
        let (rounds, ns) = std::mem::take(&mut self.run);
        if rounds >= STEADY {
            self.steady_ns += ns;
            self.steady_rounds += u64::from(rounds);
        } else {
            self.held.congestion_ns += ns;
        }
    }

    /// Return the causes that held the sender back so far.
    #[must_use]
    pub fn held(&self) -> Held {
        let mut all = self.clone();
        all.end_run();
        all.held.sender_ns = all.steady_ns;
        all.held.rounds = all.steady_rounds;
        all.held.congestion_ns += all.round_ns;
        all.held
    }
}
