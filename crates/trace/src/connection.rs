//! The connection that a packet belongs to.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::packet::{flags, Endpoint, Packet};

/// The ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The end that sent the SYN; without a SYN in the capture, the end that sent the first packet.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// Sequence number of the client's SYN, if the capture has it.
    syn: Option<u32>,
}

/// Both ends, in ascending order.
pub type Pair = (Endpoint, Endpoint);

impl Ends {
    /// Both ends, in ascending order.
    pub fn pair(&self) -> Pair {
        (self.client.min(self.server), self.client.max(self.server))
    }
}

/// The connections of a capture, in order of their first packet. A SYN with another sequence number than the connection's own SYN starts a
/// new connection on the same ports.
#[derive(Debug, Default)]
pub struct Connections {
    pub ends: Vec<Ends>,
    /// Numbers of the latest connection between each two ends. The hash is keyed at random, so that no capture can make them collide.
    latest: HashTable<usize>,
    hasher: RandomState,
}

impl Connections {
    /// The number of the packet's connection, and whether its client sent the packet.
    pub fn find(&mut self, p: &Packet) -> (usize, bool) {
        let pair = (p.source.min(p.destination), p.source.max(p.destination));
        let is_syn = p.has(flags::SYN) && !p.has(flags::ACK);
        let hash = self.hasher.hash_one(pair);
        let known = self.latest.find_mut(hash, |&i| self.ends[i].pair() == pair);
        let i = match known {
            Some(&mut i) if !(is_syn && self.ends[i].syn.is_some_and(|seq| seq != p.seq)) => i,
            known => {
                let answers = p.has(flags::SYN) && p.has(flags::ACK);
                let (client, server) = if answers { (p.destination, p.source) } else { (p.source, p.destination) };
                let new = self.ends.len();
                self.ends.push(Ends { client, server, syn: None });
                match known {
                    Some(i) => *i = new,
                    None => {
                        let ends = &self.ends;
                        let hasher = &self.hasher;
                        self.latest.insert_unique(hash, new, |&i| hasher.hash_one(ends[i].pair()));
                    }
                }
                new
            }
        };
        if is_syn {
            self.ends[i].syn = Some(p.seq);
        }
        (i, p.source == self.ends[i].client)
    }
}
