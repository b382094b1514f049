//! Bytes that each flow, and each workload that makes connections, sent through certain ports.

use super::Network;
use crate::packet::Packet;

/// Bytes that left certain ports, by flow, and by workload of the connections that come and go.
#[derive(Debug)]
pub struct Shares {
    /// For each counted port: the place of its first count in `bytes`.
    first: Vec<Option<usize>>,
    flows: usize,
    /// For each index after those of the flows: the workload that made the connection there, if one did.
    made_by: Vec<Option<usize>>,
    /// For each counted port: the bytes of the flows, then of the workloads.
    bytes: Vec<u64>,
}

impl Network {
    /// Count the bytes that flows send through ports from now on.
    pub fn count_shares(&mut self, shares: Option<Box<Shares>>) {
        for (port, first) in self.ports.iter_mut().zip(shares.iter().flat_map(|shares| &shares.first)) {
            if first.is_some() {
                port.watch();
            }
        }
        self.shares = shares;
    }
}

impl Shares {
    /// Counts at some of `ports` ports, of the first `flows` flows and of `workloads` workloads that make connections.
    #[must_use]
    pub fn new(counted: &[usize], ports: usize, flows: usize, workloads: usize) -> Self {
        let mut first = vec![None; ports];
        for (i, &port) in counted.iter().enumerate() {
            first[port] = Some(i * (flows + workloads));
        }
        Self { first, flows, made_by: vec![], bytes: vec![0; counted.len() * (flows + workloads)] }
    }

    /// Workload `workload`, counted among those that make connections, has just made the connection with index `flow`.
    pub fn renew(&mut self, flow: usize, workload: usize) {
        let i = flow - self.flows;
        if self.made_by.len() <= i {
            self.made_by.resize(i + 1, None);
        }
        self.made_by[i] = Some(workload);
    }

    /// A packet leaves a port.
    #[cold]
    #[inline(never)]
    pub(super) fn count(&mut self, port: usize, p: &Packet) {
        let Some(first) = self.first[port] else { return };
        let place = match p.flow().checked_sub(self.flows) {
            None => Some(p.flow()),
            Some(i) => self.made_by.get(i).copied().flatten().map(|workload| self.flows + workload),
        };
        if let Some(place) = place {
            self.bytes[first + place] += u64::from(p.len);
        }
    }

    /// Bytes of a flow that have left a port; 0 if the port is not counted.
    #[must_use]
    pub fn bytes(&self, port: usize, flow: usize) -> u64 {
        self.first[port].map_or(0, |first| self.bytes[first + flow])
    }

    /// Return the bytes of a workload's connections that have left a port. Workloads are counted among those that make connections. 0 if
    /// the port is not counted.
    #[must_use]
    pub fn bytes_of_workload(&self, port: usize, workload: usize) -> u64 {
        self.bytes(port, self.flows + workload)
    }
}
