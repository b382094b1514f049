//! Synthetic Packet Pairs: the RTT between two capture points without synchronised clocks (Zander and Armitage, "Minimally-intrusive
//! frequent round trip time measurements using Synthetic Packet-Pairs", LCN 2013; the pairing of CAIA's spp 0.3.6, record.c and pair.c).
//!
//! The capture point at the sender of the data is the reference, the other one is the monitor. A pair consists of a packet that the
//! monitor's host sends and the latest packet from the reference that had arrived at the monitor by then. Each packet is in at most one
//! pair.
//!
//! RTT = (arrival - departure, both at the reference) - (departure - arrival, both at the monitor).
//!
//! The second term removes the time that the monitor's host waited. Each term uses one clock only, so the offset between the clocks
//! cancels. There is about one sample per ACK. Its time is the middle of the first term.
//!
//! Differences from spp 0.3.6:
//! - Pairs are formed per connection (spp: from all packets between two addresses).
//! - A packet is identified by addresses, ports, IP identification, sequence and acknowledgment numbers, flags, window, payload length and
//!   timestamps (spp, by default: addresses, protocol, ports and identification, which many senders leave 0 since RFC 6864).
//! - Identical packets are matched in their order if both points saw the same number of them. Otherwise one was lost, it is unknown
//!   which, and none is used (spp takes the first, so a retransmission may get the time of the lost packet).
//! - Which capture point is at which end is detected (spp has to be told), so the clocks may differ by any amount.
//! - Times are in ns (spp: us).
//! - If options were cut from packets of either capture, timestamps identify none.
//! - A pair whose RTT would be negative, or whose monitor would answer before it was asked, is left out and counted: a clock was set back
//!   or is coarser than the RTT.
//!
//! Not supported: address translation, traffic other than TCP, live capture, spp's other choices of a sample's time (-b, -m). If one point
//! captures TSO segments that the other point sees after segmentation, these packets find no match.

use std::collections::{HashMap, VecDeque};

use crate::connection::{Connections, Pair};
use crate::packet::{Endpoint, Packet};

/// The header fields that do not change on the path: identification, sequence and acknowledgment numbers, flags, window, payload length,
/// timestamps.
type Identity = (u16, u32, u32, u16, u16, u32, Option<(u32, u32)>);

/// A packet as a capture point saw it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    /// The number of the connection times two, plus one if the server sent the packet.
    direction: usize,
    identity: Identity,
    /// Its place in the capture.
    place: usize,
    time_ns: i64,
}

/// Packets that one capture point saw.
#[derive(Debug, Default)]
pub struct Point {
    connections: Connections,
    /// For each connection: true if the client sent data, and true if the server did.
    data: Vec<[bool; 2]>,
    seen: Vec<Seen>,
}

impl Point {
    /// Takes in the next packet of the capture.
    pub fn add(&mut self, p: &Packet) {
        let (i, from_client) = self.connections.find(p);
        if i == self.data.len() {
            self.data.push([false; 2]);
        }
        let server_sent = usize::from(!from_client);
        self.data[i][server_sent] |= p.payload > 0;
        let identity = (p.id, p.seq, p.ack, p.flags, p.window, p.payload, p.timestamps);
        let place = self.seen.len();
        self.seen.push(Seen { direction: 2 * i + server_sent, identity, place, time_ns: p.time_ns });
    }

    /// Sort the packets seen, so that `of` finds them. Timestamps identify packets only if no capture lacks some.
    fn sort(&mut self, with_timestamps: bool) {
        if !with_timestamps {
            self.seen.iter_mut().for_each(|seen| seen.identity.6 = None);
        }
        self.seen.sort_unstable();
    }

    /// Return the packets of a connection from `source`, in order of their identities.
    fn of(&self, connection: usize, source: Endpoint) -> &[Seen] {
        let direction = 2 * connection + usize::from(self.connections.ends[connection].client != source);
        let start = self.seen.partition_point(|seen| seen.direction < direction);
        let length = self.seen[start..].partition_point(|seen| seen.direction == direction);
        &self.seen[start..start + length]
    }
}

/// A packet that was captured at both points: the first and the second.
#[derive(Clone, Copy, Debug)]
struct MatchedPacket {
    time_ns: [i64; 2],
    /// Its place in the capture.
    place: [usize; 2],
}

/// The packets that both captures contain.
fn match_packets(first: &[Seen], second: &[Seen]) -> Vec<MatchedPacket> {
    let mut candidates = first.chunk_by(|a, b| a.identity == b.identity).peekable();
    let mut matched = vec![];
    for copies in second.chunk_by(|a, b| a.identity == b.identity) {
        while candidates.next_if(|c| c[0].identity < copies[0].identity).is_some() {}
        if let Some(same) = candidates.next_if(|c| c[0].identity == copies[0].identity && c.len() == copies.len()) {
            matched.extend(
                same.iter()
                    .zip(copies)
                    .map(|(a, b)| MatchedPacket { time_ns: [a.time_ns, b.time_ns], place: [a.place, b.place] }),
            );
        }
    }
    matched
}

/// Pairs packets from the reference with packets from the monitor, which is the first (0) or the second (1) point. Returns the samples and
/// the number of pairs that had to be left out.
fn pair(
    from_reference: &mut [MatchedPacket],
    from_monitor: &mut [MatchedPacket],
    monitor: usize,
) -> (Vec<Sample>, usize) {
    let reference = 1 - monitor;
    from_reference.sort_unstable_by_key(|p| p.place[monitor]);
    from_monitor.sort_unstable_by_key(|p| p.place[monitor]);
    let (mut samples, mut left_out) = (vec![], 0);
    let mut arrivals = from_reference.iter().peekable();
    for response in from_monitor.iter() {
        // `arrivals` only advances, so each packet is in at most one pair.
        let mut latest = None;
        while let Some(arrival) = arrivals.next_if(|p| p.place[monitor] < response.place[monitor]) {
            latest = Some(arrival);
        }
        let Some(request) = latest else { continue };
        let at_reference_ns = response.time_ns[reference] - request.time_ns[reference];
        let at_monitor_ns = response.time_ns[monitor] - request.time_ns[monitor];
        if at_monitor_ns < 0 || at_reference_ns < at_monitor_ns {
            left_out += 1;
            continue;
        }
        let rtt_ns = at_reference_ns - at_monitor_ns;
        samples.push(Sample { time_ns: request.time_ns[reference] + at_reference_ns / 2, rtt_ns });
    }
    // Pairs come in the order of the monitor; where the path reorders, the reference saw them in another one.
    samples.sort_by_key(|sample| sample.time_ns);
    (samples, left_out)
}

/// An RTT sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time that the sample belongs to, ns.
    pub time_ns: i64,
    /// The RTT, ns.
    pub rtt_ns: i64,
}

/// RTT samples of the data in one direction of a connection.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Sender of the data.
    pub source: Endpoint,
    /// Receiver of the data.
    pub destination: Endpoint,
    /// The RTT samples, in the order in which the responses arrived.
    pub samples: Vec<Sample>,
    /// Number of pairs without a sample, because a clock was set back or is coarser than the RTT.
    pub left_out: usize,
}

/// Passage of the packets of one direction of a connection between the two points.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Sender of the packets.
    pub source: Endpoint,
    /// Receiver of the packets.
    pub destination: Endpoint,
    /// Packets at the point near the sender, from the first to the last that both points have.
    pub sent: usize,
    /// Packets that the other point does not have.
    pub lost: usize,
    /// Packets that only the other point has, or has more often.
    pub added: usize,
    /// For each packet that can be told from others: time at the far point minus time at the near one, in the order of departure, ns.
    /// Clocks that differ add the same to each.
    pub delays_ns: Vec<i64>,
}

/// Count the packets that went from `near` to `far`, whose common packets are `matched`; `at` is the number of the near point.
fn passage(
    source: Endpoint,
    destination: Endpoint,
    near: &[Seen],
    far: &[Seen],
    matched: &[MatchedPacket],
    at: usize,
) -> Passage {
    // A packet that departed before the other capture began, or after it ended, is not lost.
    let places = |point: usize| {
        let all = matched.iter().map(move |p| p.place[point]);
        all.clone().min().unwrap_or(0)..=all.max().unwrap_or(0)
    };
    let (near_places, far_places) = (places(at), places(1 - at));
    let mut found = Passage { source, destination, sent: 0, lost: 0, added: 0, delays_ns: vec![] };
    let mut others = far.chunk_by(|a, b| a.identity == b.identity).peekable();
    let inside = |copies: &[Seen], places: &std::ops::RangeInclusive<usize>| {
        copies.iter().filter(|p| places.contains(&p.place)).count()
    };
    for copies in near.chunk_by(|a, b| a.identity == b.identity) {
        while let Some(alone) = others.next_if(|c| c[0].identity < copies[0].identity) {
            found.added += inside(alone, &far_places);
        }
        let arrived = others.next_if(|c| c[0].identity == copies[0].identity).map_or(0, |c| c.len());
        let departed = inside(copies, &near_places);
        found.sent += departed;
        found.lost += departed.saturating_sub(arrived);
        found.added += arrived.saturating_sub(copies.len());
    }
    found.added += others.map(|alone| inside(alone, &far_places)).sum::<usize>();
    let mut in_order: Vec<_> = matched.iter().collect();
    in_order.sort_unstable_by_key(|p| p.place[at]);
    found.delays_ns = in_order.iter().map(|p| p.time_ns[1 - at] - p.time_ns[at]).collect();
    found
}

/// Return RTT samples for every connection in both captures and each direction that carried data, and the passage of the packets of each
/// direction. `options_cut`: options were cut from packets of either capture, so that timestamps identify none.
///
/// The k-th connection between two endpoints in one capture is the k-th between them in the other. The capture at the client is detected:
/// seen from there, packets to the server appear delayed more than packets from it, whatever the offset of the clocks.
///
/// # Errors
/// The captures share packets, but show every one of them at the same time.
pub fn between(mut first: Point, mut second: Point, options_cut: bool) -> Result<(Vec<Pairs>, Vec<Passage>), String> {
    first.sort(!options_cut);
    second.sort(!options_cut);
    let mut in_second: HashMap<Pair, VecDeque<usize>> = HashMap::new();
    for (i, ends) in second.connections.ends.iter().enumerate() {
        in_second.entry(ends.pair()).or_default().push_back(i);
    }
    let (mut found, mut passages, mut without_delay) = (vec![], vec![], 0);
    for (i, ends) in first.connections.ends.iter().enumerate() {
        let Some(other) = in_second.get_mut(&ends.pair()).and_then(VecDeque::pop_front) else { continue };
        let matched = |source| match_packets(first.of(i, source), second.of(other, source));
        let (mut from_client, mut from_server) = (matched(ends.client), matched(ends.server));
        let (Some(client_delay), Some(server_delay)) = (delay(&from_client), delay(&from_server)) else { continue };
        if client_delay == server_delay {
            without_delay += 1;
            continue;
        }
        // The point at the client and the point at the server: first (0) or second (1).
        let (at_client, at_server) = if client_delay > server_delay { (0, 1) } else { (1, 0) };
        for (from, to, matched, at) in
            [(ends.client, ends.server, &from_client, at_client), (ends.server, ends.client, &from_server, at_server)]
        {
            let seen = [first.of(i, from), second.of(other, from)];
            passages.push(passage(from, to, seen[at], seen[1 - at], matched, at));
        }
        let [client_data, server_data] = first.data[i];
        if client_data {
            let (samples, left_out) = pair(&mut from_client, &mut from_server, at_server);
            found.push(Pairs { source: ends.client, destination: ends.server, samples, left_out });
        }
        if server_data {
            let (samples, left_out) = pair(&mut from_server, &mut from_client, at_client);
            found.push(Pairs { source: ends.server, destination: ends.client, samples, left_out });
        }
    }
    if found.is_empty() && without_delay > 0 {
        return Err("show every packet at the same time; expected two points with a path between them".to_owned());
    }
    Ok((found, passages))
}

/// Median of the delay from the first point to the second, ns: negative if the packets pass the second first. The offset of the clocks adds
/// the same to both directions. None without packets.
fn delay(matched: &[MatchedPacket]) -> Option<i64> {
    let mut values: Vec<i64> = matched.iter().map(|p| p.time_ns[1] - p.time_ns[0]).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
