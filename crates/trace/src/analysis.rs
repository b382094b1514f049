//! What was sent in each direction of the TCP connections of a capture (the counts of tcptrace 6, rexmit.c), and the RTT at the capture
//! point: the time from a data segment to the ACK whose acknowledgment number is the end of that segment, as the RTT samples of tcptrace.
//! Segments sent more than once give no sample (Karn's algorithm).
//!
//! Captured at the sender, a sample is the RTT of the whole path. It includes the receiver's delayed-ACK timeout if the segment was
//! acknowledged alone. If one ACK covers two segments, only the second gives a sample. An ACK whose time is before that of its segment
//! (the clock was set back) gives none, and is counted.

use std::collections::VecDeque;

use crate::connection::Connections;
use crate::packet::{flags, Endpoint, Packet};
use crate::sequence::SentRanges;

/// A TCP connection and its two directions.
#[derive(Clone, Debug)]
pub struct Connection<'a> {
    /// The end that sent the SYN; without a SYN in the capture, the end that sent the first packet.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// From the client to the server.
    pub forward: &'a Direction,
    /// From the server to the client.
    pub reverse: &'a Direction,
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
    /// Packets of only new payload, but below the highest sequence number seen. At the receiver this includes retransmissions of
    /// packets that were lost before the capture point.
    pub out_of_order_packets: u64,
    /// Packets with SACK blocks.
    pub sack_packets: u64,
    /// Earliest time of a packet, ns; 0 if there is none.
    pub first_ns: i64,
    /// Latest time of a packet, ns; 0 if there is none.
    pub last_ns: i64,
    /// Earliest time of a packet with payload, ns; 0 if there is none.
    pub first_data_ns: i64,
    /// Latest time of a packet with payload, ns; 0 if there is none.
    pub last_data_ns: i64,
}

impl Direction {
    /// Payload bytes that an earlier packet carried.
    #[must_use]
    pub fn retransmitted_bytes(&self) -> u64 {
        self.bytes - self.unique_bytes
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

/// A segment that waits for its ACK.
#[derive(Debug)]
struct Segment {
    /// The unwrapped sequence number after it.
    end: i64,
    time_ns: i64,
}

/// A direction while packets are added.
#[derive(Debug, Default)]
struct Sender {
    direction: Direction,
    sent: SentRanges,
    /// Segments that were sent once and are not acknowledged, in order of sequence. None if there is none: most connections are idle.
    #[expect(clippy::box_collection, reason = "three quarters of the room in a connection without any")]
    outstanding: Option<Box<VecDeque<Segment>>>,
}

impl Sender {
    /// Takes in a packet that this end sent.
    fn send(&mut self, p: &Packet) {
        let d = &mut self.direction;
        if d.packets == 0 {
            (d.first_ns, d.last_ns) = (p.time_ns, p.time_ns);
        }
        (d.first_ns, d.last_ns) = (d.first_ns.min(p.time_ns), d.last_ns.max(p.time_ns));
        d.packets += 1;
        d.sack_packets += u64::from(p.sacks > 0);
        if p.payload == 0 {
            return;
        }
        if d.data_packets == 0 {
            (d.first_data_ns, d.last_data_ns) = (p.time_ns, p.time_ns);
        }
        (d.first_data_ns, d.last_data_ns) = (d.first_data_ns.min(p.time_ns), d.last_data_ns.max(p.time_ns));
        d.data_packets += 1;
        d.bytes += u64::from(p.payload);
        let top = self.sent.top();
        // A SYN occupies the sequence number in front of its payload.
        let (start, new) = self.sent.add(p.seq.wrapping_add(u32::from(p.has(flags::SYN))), p.payload);
        let below_top = start < top;
        d.unique_bytes += u64::from(new);
        d.retransmitted_packets += u64::from(new < p.payload);
        d.out_of_order_packets += u64::from(new == p.payload && below_top);
        if below_top {
            // After a retransmission, an ACK for this or a later segment may answer either copy.
            if let Some(outstanding) = &mut self.outstanding {
                outstanding.truncate(outstanding.partition_point(|segment| segment.end <= start));
            }
        } else {
            let end = start + i64::from(p.payload) + i64::from(p.has(flags::FIN));
            self.outstanding.get_or_insert_default().push_back(Segment { end, time_ns: p.time_ns });
        }
    }

    /// Takes in a packet from the other end. Returns the time since the segment that it acknowledges exactly was sent.
    fn acknowledge(&mut self, p: &Packet) -> Option<i64> {
        if !p.has(flags::ACK) {
            return None;
        }
        let outstanding = self.outstanding.as_mut()?;
        let ack = self.sent.unwrap(p.ack)?;
        let mut latest = None;
        while outstanding.front().is_some_and(|segment| segment.end <= ack) {
            latest = outstanding.pop_front();
        }
        if outstanding.is_empty() {
            self.outstanding = None;
        }
        latest.filter(|segment| segment.end == ack).map(|segment| p.time_ns - segment.time_ns)
    }
}

/// The TCP connections of a capture, from its packets in the order of the file.
#[derive(Debug, Default)]
pub struct Analysis {
    connections: Connections,
    /// Of each connection: what the client sent, what the server sent.
    senders: Vec<[Sender; 2]>,
    /// RTT samples: the number of the connection times two, plus one for the server's data; ns. In the order of the capture until
    /// `sort_rtts`, then by direction.
    rtts: Vec<(usize, i64)>,
    negative_rtts: u64,
}

impl Analysis {
    /// Takes in the next packet.
    pub fn add(&mut self, p: &Packet) {
        let (i, from_client) = self.connections.find(p);
        if i == self.senders.len() {
            self.senders.push(<[Sender; 2]>::default());
        }
        let [client, server] = &mut self.senders[i];
        let (sender, receiver) = if from_client { (client, server) } else { (server, client) };
        sender.send(p);
        match receiver.acknowledge(p) {
            Some(rtt_ns @ 0..) => self.rtts.push((2 * i + usize::from(from_client), rtt_ns)),
            Some(_) => self.negative_rtts += 1,
            None => {}
        }
    }

    /// Number of connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.senders.len()
    }

    /// True if there is no connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    /// ACKs whose time is before that of their segment: they give no RTT.
    #[must_use]
    pub fn negative_rtts(&self) -> u64 {
        self.negative_rtts
    }

    /// Connection `i`, in order of the first packets; panics from [`Analysis::len`] on.
    #[must_use]
    pub fn connection(&self, i: usize) -> Connection<'_> {
        let (ends, [client, server]) = (&self.connections.ends[i], &self.senders[i]);
        Connection { client: ends.client, server: ends.server, forward: &client.direction, reverse: &server.direction }
    }

    /// Groups the RTT samples by direction, for [`Analysis::rtts_ns`].
    pub fn sort_rtts(&mut self) {
        self.rtts.sort_by_key(|sample| sample.0);
    }

    /// The RTT samples of the data of connection `i`, ns, in the order of the capture; `reverse`: of the data that the server sent. To be
    /// called after [`Analysis::sort_rtts`].
    #[must_use]
    pub fn rtts_ns(&self, i: usize, reverse: bool) -> Vec<i64> {
        let direction = 2 * i + usize::from(reverse);
        let start = self.rtts.partition_point(|sample| sample.0 < direction);
        self.rtts[start..].iter().take_while(|sample| sample.0 == direction).map(|sample| sample.1).collect()
    }
}
