//! What each flow sent through certain ports.

use crate::packet::Packet;

/// Bytes of each flow that left certain ports.
#[derive(Debug)]
pub struct Shares {
    /// Of each port the place of its flows in `bytes`, if it is counted.
    first: Vec<Option<usize>>,
    flows: usize,
    bytes: Vec<u64>,
}

impl Shares {
    /// Counts at some of `ports` ports, of the first `flows` flows.
    #[must_use]
    pub fn new(counted: &[usize], ports: usize, flows: usize) -> Self {
        let mut first = vec![None; ports];
        for (i, &port) in counted.iter().enumerate() {
            first[port] = Some(i * flows);
        }
        Self { first, flows, bytes: vec![0; counted.len() * flows] }
    }

    /// A packet leaves a port.
    #[cold]
    #[inline(never)]
    pub(super) fn count(&mut self, port: usize, p: &Packet) {
        if let Some(first) = self.first[port].filter(|_| p.flow() < self.flows) {
            self.bytes[first + p.flow()] += u64::from(p.len);
        }
    }

    /// Bytes of a flow that have left a port; 0 if the port is not counted.
    #[must_use]
    pub fn bytes(&self, port: usize, flow: usize) -> u64 {
        self.first[port].map_or(0, |first| self.bytes[first + flow])
    }
}
