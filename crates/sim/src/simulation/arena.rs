//! All connections and streams of a run. Those that exist from the start come first, bulk flows before other traffic, then the slots of the
//! connections that are made while the run goes on. Each has an index, by which packets name it, and event sources ([`Sources`]).

use std::ops::Range;

use super::slots::Slots;
use super::sources::Sources;
use crate::events::EventSet;
use crate::flow::Flow;
use crate::tcp::transport::ReceivingEnd;
use crate::traffic::bulk::{SENDER_TIMER, SOURCES as FLOW_SOURCES};
use crate::traffic::AnyTraffic;

/// All connections and streams.
pub(super) struct Arena<'a> {
    /// Bulk flows.
    pub flows: Vec<Flow>,
    /// The other traffic that exists from the start.
    pub others: Vec<AnyTraffic>,
    /// For each flow of the other traffic: its owner.
    members: Vec<usize>,
    /// For each event source of the other traffic: its owner, and its number there.
    owners: Vec<(u32, u32)>,
    /// Connections that are made while the run goes on.
    pub slots: Slots<'a>,
    /// The first event source of the bulk flows, and of the other traffic.
    first_source: [usize; 2],
}

impl<'a> Arena<'a> {
    /// The connections and streams at the start.
    pub fn new(flows: Vec<Flow>, others: Vec<AnyTraffic>, slots: Slots<'a>, sources: &Sources) -> Self {
        let all = || others.iter().zip(0..);
        Self {
            members: all().flat_map(|(each, i)| (0..each.flows()).map(move |_| i as usize)).collect(),
            owners: all().flat_map(|(each, i)| (0..each.sources() as u32).map(move |which| (i, which))).collect(),
            flows,
            others,
            slots,
            first_source: [sources.flows, sources.others],
        }
    }

    /// The connection with one direction that has this index, and true if it lies in a slot. `None`: the index is of other traffic. A packet
    /// arrives only while its connection is there.
    #[inline(always)]
    pub fn flow(&mut self, index: usize) -> Option<(&mut Flow, bool)> {
        match self.flows.get_mut(index) {
            Some(flow) => Some((flow, false)),
            None => self.slots.flow(index).map(|flow| (flow, true)),
        }
    }

    /// The connection with one direction that has this index, if it is still there.
    pub fn flow_if_there(&mut self, index: usize) -> Option<&mut Flow> {
        self.flows.get_mut(index).or_else(|| self.slots.flow_if_there(index))
    }

    /// The other traffic that the flow with this index belongs to.
    pub fn other(&mut self, index: usize) -> Option<&mut AnyTraffic> {
        let member = index.checked_sub(self.flows.len())?;
        self.members.get(member).map(|&owner| &mut self.others[owner])
    }

    /// The other traffic that the flow with this index belongs to, and the flow's number there.
    pub fn member(&self, index: usize) -> Option<(&AnyTraffic, usize)> {
        let member = index.checked_sub(self.flows.len())?;
        let owner = *self.members.get(member)?;
        let which = self.members[..member].iter().rev().take_while(|&&each| each == owner).count();
        Some((&self.others[owner], which))
    }

    /// The indices of the flows of the other traffic whose event `source` came.
    pub fn flows_of_event(&self, source: usize) -> Range<usize> {
        let Some(&(owner, _)) = self.owners.get(source - self.first_source[1]) else { return 0..0 };
        let first = self.flows.len() + self.members.partition_point(|&each| each < owner as usize);
        first..first + self.others[owner as usize].flows()
    }

    /// The connection whose event `source` came, its index among bulk flows if it is one, and the number of the source there. `None`: the
    /// source is of something else. `source` is no port's.
    #[inline(always)]
    pub fn flow_of_event(&mut self, source: usize, events: &EventSet) -> Option<(&mut Flow, usize, usize)> {
        let offset = source - self.first_source[0];
        let index = offset / FLOW_SOURCES;
        match self.flows.get_mut(index) {
            Some(flow) => Some((flow, index, offset % FLOW_SOURCES)),
            None => self.slots.flow_of_event(source, events).map(|(flow, which)| (flow, index, which)),
        }
    }

    /// The other traffic whose event `source` came, and the number of the source there.
    pub fn other_of_event(&mut self, source: usize) -> Option<(&mut AnyTraffic, usize)> {
        let &(owner, which) = self.owners.get(source - self.first_source[1])?;
        Some((&mut self.others[owner as usize], which as usize))
    }

    /// The position of the workload whose next connection is due by event `source`, among those that make connections.
    pub fn group_of_event(&self, source: usize) -> Option<usize> {
        Some(source - self.first_source[1] - self.owners.len()).filter(|&group| group < self.slots.groups.len())
    }

    /// The source of the first event of all, if it has the time `now` and is a sender's timer.
    pub fn next_sender_timer(&self, now: u64, events: &EventSet) -> Option<usize> {
        let (time, source) = events.first()?;
        let first = self.first_source[0];
        let (source, first) = if (first..first + FLOW_SOURCES * self.flows.len()).contains(&source) {
            (source, first)
        } else if self.slots.has_source(source) {
            (events.first_in_slots(), self.slots.first_source())
        } else {
            return None;
        };
        (time == now && (source - first) % FLOW_SOURCES == SENDER_TIMER).then_some(source)
    }

    /// The connection of a sender's timer, and its index if it is a bulk flow.
    pub fn flow_of_timer(&mut self, timer: usize) -> (&mut Flow, Option<usize>) {
        if self.slots.has_source(timer) {
            (self.slots.flow_of_source(timer), None)
        } else {
            let index = (timer - self.first_source[0]) / FLOW_SOURCES;
            (&mut self.flows[index], Some(index))
        }
    }

    /// All connections with one direction that are there, with their indices: bulk flows, then the others in the order in which they were
    /// made.
    pub fn all_flows(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.flows.iter().enumerate().chain(self.slots.alive())
    }

    /// Data packets that connections with one direction have been delivered so far.
    pub fn delivered_packets(&self) -> u64 {
        self.flows.iter().map(|f| f.receiver.counters().arrived).sum::<u64>() + self.slots.delivered_packets()
    }

    /// Each flow of the other traffic, with its index: its owner, and its number there.
    pub fn all_others(&self) -> impl Iterator<Item = (usize, &AnyTraffic, usize)> {
        let members = self.others.iter().flat_map(|each| (0..each.flows()).map(move |which| (each, which)));
        members.zip(self.flows.len()..).map(|((each, which), index)| (index, each, which))
    }
}
