//! The distributions that cases are drawn from. `docs/ends.md` says the same in words: change both together.

use dumbbell_sim::packet::MSS;
use dumbbell_sim::rng::Rng;
use dumbbell_sim::tcp::linux::receiver::reader::{brought, TURN};
use dumbbell_sim::time::{Time, MS, SEC, US};

use crate::case::{full_segment, Kind};
use crate::play::Options;

/// Draws numbers.
#[derive(Clone, Debug)]
pub struct Draw(Rng);

impl Draw {
    /// The stream of a component of a case.
    pub fn new(seed: u64, number: u64, component: &str) -> Self {
        Self(Rng::for_component(seed, &format!("ends/{number}/{component}")))
    }

    /// Uniform in [0, 1).
    pub fn share(&mut self) -> f64 {
        f64::from(self.0.u32()) / (f64::from(u32::MAX) + 1.0)
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// Uniform from `least` to `most`.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.u64() % (most - least + 1)
    }

    /// Draws a number whose logarithm is uniform.
    pub fn by_size(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = ((least as f64).ln(), ((most + 1) as f64).ln());
        ((low + self.share() * (high - low)).exp() as u64).clamp(least, most)
    }

    /// One of these, each as likely as the others.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.between(0, all.len() as u64 - 1) as usize]
    }
}

/// A case before it is played. Wide because it has all that is drawn once a case.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The end calls connect(); else the peer does.
    pub end_opens: bool,
    /// `TCP_NODELAY` at the end.
    pub nodelay: bool,
    pub rcvbuf: Option<u64>,
    pub sndbuf: Option<u64>,
    pub reads_bps: Option<u64>,
    /// Round-trip time without a queue, ns.
    pub rtt: Time,
    /// Maximum delay that is added in either direction, ns.
    pub jitter: Time,
    /// Rate of the path to the peer, bit/s.
    pub rate_bps: u64,
    /// Probabilities for each packet, in either direction.
    pub loss: f64,
    pub reordering: f64,
    pub duplicates: f64,
    /// Probability of a CE mark, for each data packet.
    pub marks: f64,
    /// Nothing passes from the first to the second time.
    pub blackout: (Time, Time),
    /// The peer's timestamps are off with this probability, by so many ms at most.
    pub odd_timestamps: f64,
    pub odd_by: u64,
    /// The peer's buffer, bytes, and the shift of its windows.
    pub buffer: u64,
    pub scale: u8,
    /// The peer's application reads at this rate, byte/s; `None`: at once.
    pub peer_reads: Option<u64>,
    /// The peer acknowledges so many segments at once, or after this time.
    pub ack_every: u32,
    pub ack_delay: Time,
    pub reports_duplicates: bool,
    /// The peer's congestion window (segments) and its retransmission timeout, as a sender.
    pub window: u32,
    pub timeout: Time,
    /// The case ends after so many packets to the end, or at this time.
    pub most_packets: u32,
    pub horizon: Time,
}

impl Drawn {
    /// Draws the parameters of a case.
    pub fn new(seed: u64, number: u64) -> Self {
        let d = &mut Draw::new(seed, number, "case");
        let rtt = d.by_size(1000, 200_000) * US;
        let horizon = 20 * SEC;
        let dark = if d.happens(0.3) { d.between(0, horizon / 50) } else { 0 };
        let dark_from = d.between(0, horizon / 8);
        let scale = d.between(0, 9) as u8;
        let most_buffer = u64::from(u16::MAX) << scale;
        Self {
            end_opens: d.happens(0.5),
            nodelay: d.happens(0.25),
            rcvbuf: d.happens(0.2).then(|| d.by_size(4, 200) * 2304),
            sndbuf: d.happens(0.2).then(|| d.by_size(4, 200) * 2304),
            reads_bps: d.happens(0.2).then(|| d.by_size(100_000, 20_000_000)),
            rtt,
            jitter: if d.happens(0.5) { d.between(0, rtt / 5) } else { 0 },
            rate_bps: d.by_size(2_000_000, 1_000_000_000),
            loss: if d.happens(0.75) { 0.2 * d.share() * d.share() } else { 0.0 },
            reordering: if d.happens(0.5) { 0.1 * d.share() } else { 0.0 },
            duplicates: if d.happens(0.3) { 0.05 * d.share() } else { 0.0 },
            marks: if d.happens(0.75) { 0.05 * d.share() } else { 0.0 },
            blackout: (dark_from, dark_from + dark),
            odd_timestamps: if d.happens(0.1) { 0.02 } else { 0.0 },
            odd_by: d.by_size(2, 3000),
            buffer: (d.by_size(2, 3000) * u64::from(MSS)).min(most_buffer / u64::from(MSS) * u64::from(MSS)),
            scale,
            peer_reads: d.happens(0.25).then(|| d.by_size(10_000, 10_000_000)),
            ack_every: d.one_of(&[1, 2, 2, 2, 4, 8]),
            ack_delay: d.one_of(&[1, 5, 25, 40, 40, 100, 200]) * MS,
            reports_duplicates: d.happens(0.75),
            window: d.by_size(2, 80) as u32,
            timeout: rtt + d.between(200, 600) * MS,
            most_packets: 240,
            horizon,
        }
    }

    /// Draws the writes of an application; none unless `writes`.
    pub fn stream(&self, options: &Options, number: u64, of: &str, writes: bool) -> Stream {
        let d = &mut Draw::new(options.seed, number, of);
        let mut stream = Stream { mss: full_segment(options.timestamps), ..Stream::default() };
        if !writes {
            return stream;
        }
        if options.kind != Kind::Both {
            stream.writes.push((0, d.by_size(1, 1_000_000)));
            stream.closes = Some(0);
            stream.fin_rides = d.happens(0.5);
            return stream;
        }
        let mut at = d.between(0, 300) * MS;
        let pause = d.by_size(1, 1000) * MS;
        for _ in 0..d.between(1, 20) {
            stream.writes.push((at + 15 * MS + d.between(0, 900) * US, d.by_size(1, 1_000_000)));
            at += d.between(0, 2 * pause);
        }
        stream.writes.sort_unstable();
        stream.closes = d.happens(0.5).then(|| at + 20 * MS);
        stream
    }

    /// When a connection is reset or left, and how. A stream of its own: nothing else that is drawn depends on it.
    pub fn abort(seed: u64, number: u64) -> (Time, Abort) {
        let d = &mut Draw::new(seed, number, "abort");
        let at = d.by_size(20, 3000) * MS + d.between(0, 999) * US;
        let how = match d.between(0, 9) {
            0..=1 => Abort::Application,
            2 => Abort::Quits(at),
            3 => Abort::Quits(at - d.between(0, at / MS / 2) * MS),
            4..=6 => Abort::Peer(Rst::Own),
            7 => Abort::Peer(Rst::Unacknowledged),
            8 => Abort::Peer(Rst::Ahead(d.by_size(1, 10_000) as u32)),
            _ => Abort::Peer(Rst::Ahead(d.by_size(10_000, 10_000_000) as u32)),
        };
        (at, how)
    }

    /// So long after the end opens the peer does, ns: its SYN is under way, or would be, when the end's reaches it, and reaches the end after that has
    /// opened. A stream of its own, as that of an abort.
    pub fn crosses_after(&self, seed: u64, number: u64) -> Time {
        let d = &mut Draw::new(seed, number, "crossed");
        let after = d.between(0, self.rtt);
        after.saturating_sub(self.rtt / 2)
    }

    /// The turns of an end whose application reads at a rate: when, and how much.
    pub fn turns(&self, bps: u64, from: Time) -> impl Iterator<Item = (Time, u64)> {
        (0..self.horizon / TURN).map(move |turn| (from + (turn + 1) * TURN, brought(bps, turn)))
    }
}

/// The number of an RST, beside that of the peer's next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rst {
    /// The peer resets the connection: its next number.
    Own,
    /// Somebody else does, who guesses: the first number that is not acknowledged.
    Unacknowledged,
    /// The same: one so far ahead.
    Ahead(u32),
}

/// Who resets a connection.
#[derive(Clone, Copy, Debug)]
pub enum Abort {
    /// The application of the end: it aborts.
    Application,
    /// It closes its socket whatever the peer does, and reads nothing from the first time on.
    Quits(Time),
    /// The peer, or somebody in its name.
    Peer(Rst),
}

/// The writes of an application, and when it closes.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// When, and how much.
    pub writes: Vec<(Time, u64)>,
    /// When; `None`: it does not.
    pub closes: Option<Time>,
    /// The FIN goes with the last segment.
    pub fin_rides: bool,
    /// Payload of a full segment, bytes.
    pub mss: u32,
}

/// The payloads that a write is sent in, in segments of at most `mss` bytes, each with how often.
pub fn cuts(bytes: u64, mss: u32) -> impl Iterator<Item = (u32, u32)> {
    let (full, rest) = ((bytes / u64::from(mss)) as u32, (bytes % u64::from(mss)) as u32);
    [(full, mss), (u32::from(rest > 0), rest)].into_iter().filter(|(times, _)| *times > 0)
}

impl Stream {
    /// The payloads of the segments that it is sent in, those that repeat with how often: each write ends in a short one. 0 is the FIN,
    /// unless that goes with the last one.
    pub fn segments(&self) -> Vec<(u32, u32)> {
        let mut segments = vec![];
        for &(_, bytes) in &self.writes {
            segments.extend(cuts(bytes, self.mss));
        }
        if !self.fin_rides {
            segments.push((1, 0));
        }
        segments
    }
}
