//! Synthetic Packet Pairs: the RTT between two capture points without synchronised clocks (Zander and Armitage, "Minimally-intrusive
//! frequent round trip time measurements using Synthetic Packet-Pairs", LCN 2013; the pairing of CAIA's spp 0.3.6).
//!
//! Both points see a packet leave one and arrive at the other. The reference point is the one at the sender of the data. A pair is a
//! packet of the monitor towards the reference and the latest packet of the reference that had reached the monitor when it left:
//! RTT = (return at the reference - departure at the reference) - (departure at the monitor - arrival at the monitor). What the
//! monitor's host waited is subtracted, and so is any difference of the clocks. About one sample comes of each ACK; it is dated to the
//! middle of the pair at the reference. A packet that both points saw is found by addresses, ports, identification, sequence and
//! acknowledgment numbers, flags, window and payload; of several that are alike, the first is taken.

use std::collections::{HashMap, VecDeque};

use crate::connection::{connections, Connection};
use crate::one_point::Sample;
use crate::packet::{Endpoint, Packet};

/// What is the same at both points.
type Key = (Endpoint, Endpoint, u16, u32, u32, u16, u16, u32);

fn key(p: &Packet) -> Key {
    (p.source, p.destination, p.id, p.seq, p.ack, p.flags, p.window, p.payload)
}

/// The packets of `source` that both captures hold: when in the first and when in the second, in order of the second.
fn matched(first: &[Packet], second: &[Packet], source: Endpoint) -> Vec<(i64, i64)> {
    let mut times: HashMap<Key, VecDeque<i64>> = HashMap::new();
    for p in first.iter().filter(|p| p.source == source) {
        times.entry(key(p)).or_default().push_back(p.time_ns);
    }
    let own = second.iter().filter(|p| p.source == source);
    own.filter_map(|p| Some((times.get_mut(&key(p))?.pop_front()?, p.time_ns))).collect()
}

/// The RTTs of the data of `source`, at whose host `reference` was captured, `monitor` being at that of `destination`; both are
/// captures of one connection.
#[must_use]
pub fn rtt(reference: &[Packet], monitor: &[Packet], source: Endpoint, destination: Endpoint) -> Vec<Sample> {
    let there = matched(reference, monitor, source);
    let back = matched(monitor, reference, destination);
    let mut samples = vec![];
    let mut next = 0;
    for (answer_left, answer_arrived) in back {
        let first = next;
        while next < there.len() && there[next].1 <= answer_left {
            next += 1;
        }
        // A packet belongs to one pair.
        if next == first {
            continue;
        }
        let (asked_left, asked_arrived) = there[next - 1];
        let rtt_ns = (answer_arrived - asked_left) - (answer_left - asked_arrived);
        let time_ns = asked_left + (answer_arrived - asked_left) / 2;
        samples.push(Sample { time_ns, rtt_ns: rtt_ns.max(0) });
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
/// made at is found out: only in one way do packets need time for the whole round, whatever the clocks show.
#[must_use]
pub fn between(first: &[Packet], second: &[Packet]) -> Vec<Pairs> {
    let others: HashMap<(Endpoint, Endpoint), Connection> =
        connections(second).into_iter().map(|c| (c.ends(), c)).collect();
    let mut found = vec![];
    for connection in connections(first) {
        let Some(other) = others.get(&connection.ends()) else { continue };
        let (a, b) = (connection.of(first), other.of(second));
        let (client, server) = (connection.client, connection.server);
        let least = |source| matched(&a, &b, source).iter().map(|(one, two)| two - one).min();
        let most = |source| matched(&a, &b, source).iter().map(|(one, two)| two - one).max();
        let (Some(forth), Some(back)) = (least(client), most(server)) else { continue };
        let (at_client, at_server) = if forth >= back { (&a, &b) } else { (&b, &a) };
        for (source, destination, direction) in
            [(client, server, &connection.forward), (server, client, &connection.reverse)]
        {
            if direction.data_packets > 0 {
                let (reference, monitor) =
                    if source == client { (at_client, at_server) } else { (at_server, at_client) };
                let samples = rtt(reference, monitor, source, destination);
                found.push(Pairs { source, destination, samples });
            }
        }
    }
    found
}
