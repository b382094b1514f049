//! TCP connections of a capture: packets grouped by their two endpoints, and what was sent in each direction (the counts of tcptrace 6,
//! rexmit.c).

use std::collections::HashMap;

use crate::packet::{before, flags, Endpoint, Packet};

/// A TCP connection and its two directions.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The end that sent the SYN; without a SYN in the capture, the end that sent the first packet.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// From the client to the server.
    pub forward: Direction,
    /// From the server to the client.
    pub reverse: Direction,
    /// Indices of its packets in the capture.
    pub packets: Vec<usize>,
}

impl Connection {
    /// Both endpoints, in ascending order.
    #[must_use]
    pub fn endpoints(&self) -> (Endpoint, Endpoint) {
        (self.client.min(self.server), self.client.max(self.server))
    }

    /// Copies of its packets; `capture` must be the one that it was found in.
    #[must_use]
    pub fn packets_of(&self, capture: &[Packet]) -> Vec<Packet> {
        self.packets.iter().map(|&i| capture[i]).collect()
    }
}

/// What one end sent to the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Packets.
    pub packets: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Payload in bytes, retransmissions included.
    pub bytes: u64,
    /// Payload in bytes, counting each sequence number once. Bytes that the capture missed are not counted.
    pub unique_bytes: u64,
    /// Packets with at least one payload byte that an earlier packet carried.
    pub retransmitted_packets: u64,
    /// Payload bytes that an earlier packet carried: `bytes - unique_bytes`.
    pub retransmitted_bytes: u64,
    /// Packets of only new payload, but below the highest sequence number seen. At the receiver this includes retransmissions of
    /// packets that were lost before the capture point.
    pub out_of_order_packets: u64,
    /// Packets with SACK blocks.
    pub sack_packets: u64,
    /// Time of the first packet, ns.
    pub first_ns: i64,
    /// Time of the last packet, ns.
    pub last_ns: i64,
    /// Time of the first packet with payload, ns; 0 if there is none.
    pub first_data_ns: i64,
    /// Time of the last packet with payload, ns; 0 if there is none.
    pub last_data_ns: i64,
}

/// The sequence numbers that one end has sent, as sorted, disjoint ranges. They are unwrapped to 64 bits.
#[derive(Clone, Debug, Default)]
struct SentRanges {
    /// The 32-bit sequence number that is unwrapped to 0.
    origin: Option<u32>,
    ranges: Vec<(u64, u64)>,
}

impl SentRanges {
    /// Adds `[seq, seq + length)`. Returns how many of its bytes are new, and whether it starts below the highest sequence number so far.
    fn add(&mut self, seq: u32, length: u32) -> (u64, bool) {
        // The first packet of the capture is unwrapped to 2^31, so that a packet that it overtook still has a number above 0.
        let origin = *self.origin.get_or_insert(seq.wrapping_sub(1 << 31));
        let top = self.ranges.last().map_or(1 << 31, |r| r.1);
        // Of all unwrapped numbers that `seq` can stand for, take the one closest to `top`.
        let low = u64::from(seq.wrapping_sub(origin));
        let wraps = (top.saturating_sub(low) + (1 << 31)) >> 32;
        let (start, end) = (low + (wraps << 32), low + (wraps << 32) + u64::from(length));
        let first = self.ranges.partition_point(|r| r.1 < start);
        let after = self.ranges.partition_point(|r| r.0 <= end);
        let covered: u64 = self.ranges[first..after].iter().map(|r| r.1.min(end).saturating_sub(r.0.max(start))).sum();
        let merged = self.ranges[first..after].iter().fold((start, end), |m, r| (m.0.min(r.0), m.1.max(r.1)));
        self.ranges.splice(first..after, [merged]);
        (u64::from(length) - covered, start < top)
    }
}

impl Direction {
    fn add(&mut self, p: &Packet, sent: &mut SentRanges) {
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
        let (new, below_top) = sent.add(p.seq, p.payload);
        self.unique_bytes += new;
        let old = u64::from(p.payload) - new;
        self.retransmitted_packets += u64::from(old > 0);
        self.retransmitted_bytes += old;
        self.out_of_order_packets += u64::from(old == 0 && below_top);
    }

    /// `unique_bytes` per time from the first to the last packet with payload, bit/s; 0 if that time is 0.
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

/// The connections of a capture, in order of their first packet. A SYN with another sequence number than the connection's own SYN starts a
/// new connection on the same ports.
#[must_use]
pub fn connections(packets: &[Packet]) -> Vec<Connection> {
    let mut found: Vec<Connection> = vec![];
    let mut sent: Vec<[SentRanges; 2]> = vec![];
    let mut syns: Vec<Option<u32>> = vec![];
    let mut open: HashMap<(Endpoint, Endpoint), usize> = HashMap::new();
    for (index, p) in packets.iter().enumerate() {
        let key = (p.source.min(p.destination), p.source.max(p.destination));
        let is_syn = p.has(flags::SYN) && !p.has(flags::ACK);
        let reuses_ports = |i: usize| is_syn && syns[i].is_some_and(|seq| seq != p.seq);
        let i = match open.get(&key) {
            Some(&i) if !reuses_ports(i) => i,
            _ => {
                let (client, server) = if p.has(flags::SYN) && p.has(flags::ACK) {
                    (p.destination, p.source)
                } else {
                    (p.source, p.destination)
                };
                let (forward, reverse) = (Direction::default(), Direction::default());
                found.push(Connection { client, server, forward, reverse, packets: vec![] });
                sent.push(<[SentRanges; 2]>::default());
                syns.push(None);
                open.insert(key, found.len() - 1);
                found.len() - 1
            }
        };
        if is_syn {
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

/// True if `p` acknowledges all sequence numbers below `end`.
#[must_use]
pub fn covers(p: &Packet, end: u32) -> bool {
    p.has(flags::ACK) && !before(p.ack, end)
}
