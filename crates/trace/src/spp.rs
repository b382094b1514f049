//! Synthetic Packet Pairs: the RTT between two capture points without synchronised clocks (Zander and Armitage, "Minimally-intrusive
//! frequent round trip time measurements using Synthetic Packet-Pairs", LCN 2013; the pairing of CAIA's spp 0.3.6, record.c and pair.c).
//!
//! Both points see a packet leave one and arrive at the other. The reference point is the one at the sender of the data. A pair is a
//! packet of the monitor towards the reference and the latest packet of the reference that had reached the monitor when it left; no
//! packet is in two pairs.
//! RTT = (return at the reference - departure at the reference) - (departure at the monitor - arrival at the monitor). What the
//! monitor's host waited is subtracted, and so is any difference of the clocks. About one sample comes of each ACK; it is dated to the
//! middle of the pair at the reference.
//!
//! Where this differs from spp 0.3.6. Pairs are formed connection by connection (spp: of all packets between two addresses). A packet
//! is known by addresses, ports, identification, sequence and acknowledgment numbers, flags, window, payload and timestamps (spp, by
//! default: addresses, protocol, ports and identification, which many senders leave 0 since RFC 6864). Packets that are alike are told
//! apart by their order if each point saw equally many, and are left out if not: one of them was lost, and which one cannot be known
//! (spp takes the first, and so may date a retransmission back to the packet that was lost). Which end is near which point is found
//! out (spp is told), so that clocks may be any time apart. Times are ns (spp: us).
//!
//! Leaves out: translated addresses, other traffic than TCP, live capture, spp's other dates of a pair (-b, -m). With offload on, one
//! point may see chunks that the other sees cut: these have no match.

use std::collections::{HashMap, VecDeque};

use crate::connection::{connections, Connection};
use crate::one_point::Sample;
use crate::packet::{Endpoint, Packet};

/// What is the same at both points: identification, sequence and acknowledgment number, flags, window, payload, timestamps.
type Key = (u16, u32, u32, u16, u16, u32, Option<(u32, u32)>);

fn key(p: &Packet) -> Key {
    (p.id, p.seq, p.ack, p.flags, p.window, p.payload, p.timestamps)
}

/// A packet that both points saw.
#[derive(Clone, Copy, Debug)]
struct Passage {
    reference_ns: i64,
    monitor_ns: i64,
    /// Place among the monitor's packets.
    place: usize,
}

/// The packets of `source` that both captures of a connection hold, in order of the monitor.
fn matched(reference: &[Packet], monitor: &[Packet], source: Endpoint) -> Vec<Passage> {
    let sorted = |packets: &[Packet]| {
        let own = packets.iter().enumerate().filter(|(_, p)| p.source == source);
        let mut own: Vec<(Key, usize, i64)> = own.map(|(place, p)| (key(p), place, p.time_ns)).collect();
        own.sort_unstable();
        own
    };
    let (here, there) = (sorted(reference), sorted(monitor));
    let mut candidates = here.chunk_by(|a, b| a.0 == b.0).peekable();
    let mut found = Vec::with_capacity(there.len());
    for alike in there.chunk_by(|a, b| a.0 == b.0) {
        while candidates.next_if(|c| c[0].0 < alike[0].0).is_some() {}
        if let Some(others) = candidates.next_if(|c| c[0].0 == alike[0].0 && c.len() == alike.len()) {
            found.extend(others.iter().zip(alike).map(|(r, m)| Passage {
                reference_ns: r.2,
                monitor_ns: m.2,
                place: m.1,
            }));
        }
    }
    found.sort_unstable_by_key(|p| p.place);
    found
}

/// The RTTs of packets that left the reference (`there`) and those that left the monitor (`back`), in order of the monitor.
fn rtts(there: &[Passage], back: &[Passage]) -> Vec<Sample> {
    let mut samples = vec![];
    let mut arrived = there.iter().peekable();
    for answer in back {
        let mut latest = None;
        while let Some(asked) = arrived.next_if(|p| p.place < answer.place) {
            latest = Some(asked);
        }
        // A packet belongs to one pair.
        let Some(asked) = latest else { continue };
        let whole_ns = answer.reference_ns - asked.reference_ns;
        let rtt_ns = whole_ns - (answer.monitor_ns - asked.monitor_ns);
        // Coarse clocks may make it negative.
        samples.push(Sample { time_ns: asked.reference_ns + whole_ns / 2, rtt_ns: rtt_ns.max(0) });
    }
    samples
}

/// The RTTs of one direction's data.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Who sent the data.
    pub source: Endpoint,
    /// Who answered.
    pub destination: Endpoint,
    /// The RTTs, in order.
    pub samples: Vec<Sample>,
}

/// The RTTs of every connection that both captures hold, for each direction that carried data. Which end of a connection a capture was
/// made at is found out: only in one way do packets need time for the whole round, whatever the clocks show. The k-th connection
/// between two ends is the k-th between them in the other capture.
///
/// # Errors
/// Packets are in both captures, but none takes any time between them.
pub fn between(first: &[Packet], second: &[Packet]) -> Result<Vec<Pairs>, String> {
    let mut others: HashMap<(Endpoint, Endpoint), VecDeque<Connection>> = HashMap::new();
    for connection in connections(second) {
        others.entry(connection.ends()).or_default().push_back(connection);
    }
    let (mut found, mut still) = (vec![], 0);
    for connection in connections(first) {
        let Some(other) = others.get_mut(&connection.ends()).and_then(VecDeque::pop_front) else { continue };
        let (a, b) = (connection.of(first), other.of(second));
        let (client, server) = (connection.client, connection.server);
        let lag = |source| median(matched(&a, &b, source).iter().map(|p| p.monitor_ns - p.reference_ns).collect());
        let (Some(forth), Some(back)) = (lag(client), lag(server)) else { continue };
        if forth == back {
            still += 1;
            continue;
        }
        let (at_client, at_server) = if forth > back { (&a, &b) } else { (&b, &a) };
        for (source, destination, direction) in
            [(client, server, &connection.forward), (server, client, &connection.reverse)]
        {
            if direction.data_packets > 0 {
                let (reference, monitor) =
                    if source == client { (at_client, at_server) } else { (at_server, at_client) };
                let back = matched(reference, monitor, destination);
                let samples = rtts(&matched(reference, monitor, source), &back);
                found.push(Pairs { source, destination, samples });
            }
        }
    }
    if found.is_empty() && still > 0 {
        return Err("show every packet at the same time; expected two points with a path between them".to_owned());
    }
    Ok(found)
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
