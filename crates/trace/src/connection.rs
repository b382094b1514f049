//! Connections: packets of both directions by endpoints, and what each direction did (the facts of tcptrace 6, rexmit.c).

use std::collections::HashMap;

use crate::packet::{before, flags, Endpoint, Packet};

/// A connection: who opened it, and both directions.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Who sent the SYN; without one, who sent the first packet.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// From the client.
    pub forward: Direction,
    /// From the server.
    pub reverse: Direction,
    /// Its packets, as indices into the capture.
    pub packets: Vec<usize>,
}

impl Connection {
    /// Both ends, the lower first.
    #[must_use]
    pub fn ends(&self) -> (Endpoint, Endpoint) {
        (self.client.min(self.server), self.client.max(self.server))
    }

    /// Its packets, from the capture that it was found in.
    #[must_use]
    pub fn of(&self, capture: &[Packet]) -> Vec<Packet> {
        self.packets.iter().map(|&i| capture[i]).collect()
    }
}

/// What one end sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Packets.
    pub packets: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Payload, bytes, repeats included.
    pub bytes: u64,
    /// Payload, bytes, each sequence number once; as far as seen.
    pub unique_bytes: u64,
    /// Packets with payload that had been seen before.
    pub retransmitted_packets: u64,
    /// That payload, bytes: with `unique_bytes` it makes `bytes`.
    pub retransmitted_bytes: u64,
    /// Packets of nothing but new payload that filled a gap in the sequence: sent or seen out of order. At the receiver so is what
    /// comes again after it was lost.
    pub out_of_order_packets: u64,
    /// Packets with SACK blocks.
    pub sack_packets: u64,
    /// First and last packet, ns.
    pub first_ns: i64,
    /// See `first_ns`.
    pub last_ns: i64,
    /// First and last packet with payload, ns; 0 without any.
    pub first_data_ns: i64,
    /// See `first_data_ns`.
    pub last_data_ns: i64,
}

/// Sequence numbers that one end has sent, as sorted, disjoint ranges on a line that does not wrap.
#[derive(Clone, Debug, Default)]
struct Sent {
    /// First sequence number.
    origin: Option<u32>,
    ranges: Vec<(u64, u64)>,
}

impl Sent {
    /// Adds `[seq, seq + length)`; returns the bytes that are new, and whether they lie below what was there.
    fn add(&mut self, seq: u32, length: u32) -> (u64, bool) {
        // Half the space lies below the first: a packet that was overtaken at the start.
        let origin = *self.origin.get_or_insert(seq.wrapping_sub(1 << 31));
        let top = self.ranges.last().map_or(1 << 31, |r| r.1);
        // The position next to the top among those that the sequence number may stand for.
        let low = u64::from(seq.wrapping_sub(origin));
        let turn = (top.saturating_sub(low) + (1 << 31)) >> 32;
        let (start, end) = (low + (turn << 32), low + (turn << 32) + u64::from(length));
        let first = self.ranges.partition_point(|r| r.1 < start);
        let after = self.ranges.partition_point(|r| r.0 <= end);
        let covered: u64 = self.ranges[first..after].iter().map(|r| r.1.min(end).saturating_sub(r.0.max(start))).sum();
        let merged = self.ranges[first..after].iter().fold((start, end), |m, r| (m.0.min(r.0), m.1.max(r.1)));
        self.ranges.splice(first..after, [merged]);
        (u64::from(length) - covered, start < top)
    }
}

impl Direction {
    fn add(&mut self, p: &Packet, sent: &mut Sent) {
        if self.packets == 0 {
            self.first_ns = p.time_ns;
        }
        self.last_ns = p.time_ns;
        self.packets += 1;
        self.sack_packets += u64::from(p.sacks > 0);
        if p.payload == 0 {
            return;
        }
        if self.data_packets == 0 {
            self.first_data_ns = p.time_ns;
        }
        self.last_data_ns = p.time_ns;
        self.data_packets += 1;
        self.bytes += u64::from(p.payload);
        let (new, below) = sent.add(p.seq, p.payload);
        self.unique_bytes += new;
        let old = u64::from(p.payload) - new;
        self.retransmitted_packets += u64::from(old > 0);
        self.retransmitted_bytes += old;
        self.out_of_order_packets += u64::from(old == 0 && below);
    }

    /// Payload that arrived once over the time from its first to its last packet, bit/s; 0 without such a time.
    #[must_use]
    pub fn throughput_bps(&self) -> f64 {
        let span_ns = self.last_data_ns - self.first_data_ns;
        if span_ns > 0 {
            self.unique_bytes as f64 * 8e9 / span_ns as f64
        } else {
            0.0
        }
    }
}

/// The connections of a capture, in order of their first packet. Ports used again after a SYN with a new sequence number make a new one.
#[must_use]
pub fn connections(packets: &[Packet]) -> Vec<Connection> {
    let mut found: Vec<Connection> = vec![];
    let mut sent: Vec<[Sent; 2]> = vec![];
    let mut syns: Vec<Option<u32>> = vec![];
    let mut open: HashMap<(Endpoint, Endpoint), usize> = HashMap::new();
    for (index, p) in packets.iter().enumerate() {
        let key = (p.source.min(p.destination), p.source.max(p.destination));
        let opens = p.has(flags::SYN) && !p.has(flags::ACK);
        let again = |i: usize| opens && syns[i].is_some_and(|seq| seq != p.seq);
        let i = match open.get(&key) {
            Some(&i) if !again(i) => i,
            _ => {
                let (client, server) = if p.has(flags::SYN) && p.has(flags::ACK) {
                    (p.destination, p.source)
                } else {
                    (p.source, p.destination)
                };
                let (forward, reverse) = (Direction::default(), Direction::default());
                found.push(Connection { client, server, forward, reverse, packets: vec![] });
                sent.push(<[Sent; 2]>::default());
                syns.push(None);
                open.insert(key, found.len() - 1);
                found.len() - 1
            }
        };
        if opens {
            syns[i] = Some(p.seq);
        }
        let connection = &mut found[i];
        connection.packets.push(index);
        if p.source == connection.client {
            connection.forward.add(p, &mut sent[i][0]);
        } else {
            connection.reverse.add(p, &mut sent[i][1]);
        }
    }
    found
}

/// True if an ACK of `p` covers sequence number `end`.
#[must_use]
pub fn covers(p: &Packet, end: u32) -> bool {
    p.has(flags::ACK) && !before(p.ack, end)
}
