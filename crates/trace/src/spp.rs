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
//!
//! Not supported: address translation, traffic other than TCP, live capture, spp's other choices of a sample's time (-b, -m). If one point
//! captures TSO segments that the other point sees after segmentation, these packets find no match.

use std::collections::{HashMap, VecDeque};

use crate::connection::{connections, Connection};
use crate::one_point::Sample;
use crate::packet::{Endpoint, Packet};

/// The header fields that do not change on the path: identification, sequence and acknowledgment numbers, flags, window, payload length,
/// timestamps.
type Identity = (u16, u32, u32, u16, u16, u32, Option<(u32, u32)>);

fn identity(p: &Packet) -> Identity {
    (p.id, p.seq, p.ack, p.flags, p.window, p.payload, p.timestamps)
}

/// A packet that was captured at both points.
#[derive(Clone, Copy, Debug)]
struct MatchedPacket {
    reference_ns: i64,
    monitor_ns: i64,
    /// Index in the monitor's capture.
    monitor_index: usize,
}

/// The packets from `source` that both captures of a connection contain, in the order of the monitor.
fn match_packets(reference: &[Packet], monitor: &[Packet], source: Endpoint) -> Vec<MatchedPacket> {
    let sorted = |packets: &[Packet]| {
        let sent = packets.iter().enumerate().filter(|(_, p)| p.source == source);
        let mut sent: Vec<(Identity, usize, i64)> = sent.map(|(index, p)| (identity(p), index, p.time_ns)).collect();
        sent.sort_unstable();
        sent
    };
    let (at_reference, at_monitor) = (sorted(reference), sorted(monitor));
    let mut candidates = at_reference.chunk_by(|a, b| a.0 == b.0).peekable();
    let mut matched = Vec::with_capacity(at_monitor.len());
    for copies in at_monitor.chunk_by(|a, b| a.0 == b.0) {
        while candidates.next_if(|c| c[0].0 < copies[0].0).is_some() {}
        if let Some(same) = candidates.next_if(|c| c[0].0 == copies[0].0 && c.len() == copies.len()) {
            matched.extend(same.iter().zip(copies).map(|(r, m)| MatchedPacket {
                reference_ns: r.2,
                monitor_ns: m.2,
                monitor_index: m.1,
            }));
        }
    }
    matched.sort_unstable_by_key(|p| p.monitor_index);
    matched
}

/// Pairs packets from the reference with packets from the monitor; both slices are in the order of the monitor.
fn pair(from_reference: &[MatchedPacket], from_monitor: &[MatchedPacket]) -> Vec<Sample> {
    let mut samples = vec![];
    let mut arrivals = from_reference.iter().peekable();
    for response in from_monitor {
        // `arrivals` only advances, so each packet is in at most one pair.
        let mut latest = None;
        while let Some(arrival) = arrivals.next_if(|p| p.monitor_index < response.monitor_index) {
            latest = Some(arrival);
        }
        let Some(request) = latest else { continue };
        let at_reference_ns = response.reference_ns - request.reference_ns;
        let at_monitor_ns = response.monitor_ns - request.monitor_ns;
        // The difference can be negative if the clocks are coarse.
        let rtt_ns = (at_reference_ns - at_monitor_ns).max(0);
        samples.push(Sample { time_ns: request.reference_ns + at_reference_ns / 2, rtt_ns });
    }
    samples
}

/// RTT samples of the data in one direction of a connection.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Sender of the data.
    pub source: Endpoint,
    /// Receiver of the data.
    pub destination: Endpoint,
    /// The RTT samples, in order of time.
    pub samples: Vec<Sample>,
}

/// RTT samples for every connection in both captures and each direction that carried data.
///
/// The k-th connection between two endpoints in one capture is the k-th between them in the other. Which capture was made at the client is
/// detected: seen from there, packets to the server appear delayed more than packets from it, whatever the offset of the clocks.
///
/// # Errors
/// The captures share packets, but show every one of them at the same time.
pub fn between(first: &[Packet], second: &[Packet]) -> Result<Vec<Pairs>, String> {
    let mut in_second: HashMap<(Endpoint, Endpoint), VecDeque<Connection>> = HashMap::new();
    for connection in connections(second) {
        in_second.entry(connection.endpoints()).or_default().push_back(connection);
    }
    let (mut found, mut without_delay) = (vec![], 0);
    for connection in connections(first) {
        let Some(other) = in_second.get_mut(&connection.endpoints()).and_then(VecDeque::pop_front) else { continue };
        let (a, b) = (connection.packets_of(first), other.packets_of(second));
        let (client, server) = (connection.client, connection.server);
        // Delay from `a` to `b`, negative if the packets pass `b` first; the offset of the clocks adds the same to both directions.
        let delay =
            |source| median(match_packets(&a, &b, source).iter().map(|p| p.monitor_ns - p.reference_ns).collect());
        let (Some(from_client), Some(from_server)) = (delay(client), delay(server)) else { continue };
        if from_client == from_server {
            without_delay += 1;
            continue;
        }
        let (at_client, at_server) = if from_client > from_server { (&a, &b) } else { (&b, &a) };
        for (source, destination, direction) in
            [(client, server, &connection.forward), (server, client, &connection.reverse)]
        {
            if direction.data_packets > 0 {
                let (reference, monitor) =
                    if source == client { (at_client, at_server) } else { (at_server, at_client) };
                let from_monitor = match_packets(reference, monitor, destination);
                let samples = pair(&match_packets(reference, monitor, source), &from_monitor);
                found.push(Pairs { source, destination, samples });
            }
        }
    }
    if found.is_empty() && without_delay > 0 {
        return Err("show every packet at the same time; expected two points with a path between them".to_owned());
    }
    Ok(found)
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
