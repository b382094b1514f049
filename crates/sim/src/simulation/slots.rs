//! Connections that workloads make during the run. Each lies in a slot: an index among all flows, with event sources and with a place in
//! every table that is by flow. A slot is reused when nothing refers to it any more: the transfer is complete and acknowledged, every
//! packet that was sent has arrived or was dropped, and the queue disciplines have been told. All that decides about a run (random streams,
//! addresses, names, the order of simultaneous events) comes from a connection's number and never from its slot.

use super::tuples::tuple;
use crate::capture::FlowHeaders;
use crate::events::EventSet;
use crate::flow::Flow;
use crate::network::{FlowWay, Network};
use crate::output::Rows;
use crate::packet;
use crate::probe::{Alone, Coming, FlowRow, GroupTotals, Volume};
use crate::spec::{Direction, NetworkSpec, Opener};
use crate::tcp::common::layout::Layout;
use crate::tcp::transport::{ReceivingEnd, SendingEnd};
use crate::time::{Time, NEVER};
use crate::traffic::arrivals::{Arrival, Making};
use crate::traffic::bulk::{ends, SOURCES as FLOW_SOURCES};
use crate::traffic::Controls;

/// A workload and the totals of its connections.
pub(super) struct Group<'a> {
    pub(super) making: Making<'a>,
    /// For each of its paths: the time of a transfer alone.
    alone: Vec<Alone>,
    totals: GroupTotals,
    /// Numbers and rows of the connections that are gone, if the rows are wanted.
    rows: Vec<(u64, FlowRow)>,
}

impl<'a> Group<'a> {
    /// Nothing has been made yet.
    pub(super) fn new(making: Making<'a>) -> Self {
        Self { making, alone: vec![], totals: GroupTotals::default(), rows: vec![] }
    }

    fn name(&self, number: u64) -> String {
        format!("{}-{number}", self.making.tcp.id)
    }

    /// Add the results of a connection.
    fn count(&mut self, Made { flow, arrival, .. }: &Made) {
        let alone = self.alone[arrival.class].time(arrival.bytes, arrival.rtt);
        self.totals.add_transfer(arrival.bytes, alone, completion(flow), Volume::of(flow));
    }
}

/// A connection.
struct Made {
    flow: Flow,
    /// Index of its group, and its number in that.
    group: usize,
    number: u64,
    arrival: Arrival,
    /// First segment beyond the transfer.
    end: u32,
    /// Its number among all that were made.
    serial: u64,
    /// It is among those that leave.
    leaves: bool,
}

impl Made {
    /// The connection is closed, and both ends know that.
    fn is_closed(&self) -> bool {
        self.flow.receiver.has_closed() && self.flow.sender.has_closed(self.end)
    }
}

/// The groups and the connections that are alive.
pub(super) struct Slots<'a> {
    pub(super) groups: Vec<Group<'a>>,
    /// For each group: the ways of its paths.
    ways: Vec<Vec<FlowWay>>,
    network: &'a NetworkSpec,
    controls: &'a Controls,
    /// Index of the flow in the first slot.
    first_flow: usize,
    /// The first event source of the first slot.
    first_source: usize,
    slots: Vec<Option<Box<Made>>>,
    free: Vec<usize>,
    /// Slots of complete transfers of which packets were still under way.
    leaving: Vec<usize>,
    made: u64,
    delivered_packets: u64,
    /// True if slots are reused. Tests compare with runs in which they are not.
    pub(super) reuses: bool,
}

impl<'a> Slots<'a> {
    /// Start without connections. `ways` are those of each group, and the first slot has its event sources from `first_source` on.
    pub(super) fn new(
        mut groups: Vec<Group<'a>>,
        ways: Vec<Vec<FlowWay>>,
        first_source: usize,
        network: &'a NetworkSpec,
        controls: &'a Controls,
    ) -> Self {
        groups.iter_mut().for_each(|group| group.alone = group.making.alone(network));
        Self {
            groups,
            ways,
            network,
            controls,
            first_flow: network.connections().count() + network.listed().count(),
            first_source,
            slots: vec![],
            free: vec![],
            leaving: vec![],
            made: 0,
            delivered_packets: 0,
            reuses: true,
        }
    }

    /// A connection of group `group` is due. For a capture its headers are added to `headers`.
    pub(super) fn on_arrival(&mut self, group: usize, network: &mut Network, headers: &mut Vec<FlowHeaders>) {
        self.release_leaving(network);
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let (serial, index) = (self.made, self.first_flow + slot);
        self.made += 1;
        let source = network.events.take_slot(slot, serial);
        let g = &mut self.groups[group];
        let (number, arrival) = g.making.arrivals.on_timer(network);
        g.making.tcp.transfer_bytes = Some(arrival.bytes);
        let (tcp, way) = (&g.making.tcp, FlowWay { rtt: arrival.rtt, ..self.ways[group][arrival.class] });
        let tuple = tuple(self.network, tcp.into(), (Some(tcp), false), arrival.ports);
        network.renew_flow(index, self.first_flow as u64 + serial, way, tuple);
        if let Some(shares) = &mut network.shares {
            shares.renew(index, group);
        }
        let seed = [self.network.seed, self.first_flow as u64 + serial];
        let made = ends(tcp, &g.making.stack, index as u32, source, self.controls, seed);
        let (sender, receiver) = made.expect("what was made once can be made once more");
        if let Some(tap) = network.tap() {
            tap.renew(index, headers.len() as u32, tcp.direction == Direction::Reverse);
            headers.push(FlowHeaders::tcp(tcp, tuple, g.making.stack.idle_window(tcp), receiver.window_scale()));
        }
        let mut flow = Flow {
            name: g.name(number),
            sender,
            receiver,
            start: network.now(),
            stop: self.network.duration_ns,
            takes_turns: false,
            is_download: tcp.opener == Opener::To,
        };
        let end = Layout::of(tcp).end();
        g.totals.begin_transfer(arrival.bytes);
        flow.sender.on_host_with_queue(network.host_queue(index, packet::Direction::Forward));
        if network.paces(index) {
            flow.sender.pace_in_host();
        }
        flow.connect(network);
        let made = Some(Box::new(Made { flow, group, number, arrival, end, serial, leaves: false }));
        match self.slots.get_mut(slot) {
            Some(place) => *place = made,
            None => self.slots.push(made),
        }
    }

    /// The flow with this index, if it lies in a slot.
    #[inline]
    pub(super) fn flow(&mut self, index: usize) -> Option<&mut Flow> {
        let slot = index.checked_sub(self.first_flow)?;
        Some(&mut self.slots[slot].as_mut().expect("packets of a connection arrive while it has its slot").flow)
    }

    /// The flow with this index, if it lies in a slot and is still there.
    pub(super) fn flow_if_there(&mut self, index: usize) -> Option<&mut Flow> {
        let slot = index.checked_sub(self.first_flow)?;
        Some(&mut self.slots[slot].as_mut()?.flow)
    }

    /// Return the flow whose event comes first of all slots, and its source among the flow's. `source` comes from the event set; `None` if
    /// it exists from the start.
    #[inline]
    pub(super) fn flow_of_event(&mut self, source: usize, events: &EventSet) -> Option<(&mut Flow, usize)> {
        if source < self.first_source {
            return None;
        }
        let source = events.first_in_slots() - self.first_source;
        let made = self.slots[source / FLOW_SOURCES].as_mut().expect("a slot without a connection has no events");
        Some((&mut made.flow, source % FLOW_SOURCES))
    }

    /// The first event source of the first slot.
    pub(super) fn first_source(&self) -> usize {
        self.first_source
    }

    /// True if an event source belongs to a slot.
    pub(super) fn has_source(&self, source: usize) -> bool {
        source >= self.first_source
    }

    /// The flow in the slot that an event source is of.
    pub(super) fn flow_of_source(&mut self, source: usize) -> &mut Flow {
        let slot = (source - self.first_source) / FLOW_SOURCES;
        &mut self.slots[slot].as_mut().expect("a slot without a connection has no events").flow
    }

    /// A packet of the flow with this index was handled: lets the connection go if it is complete.
    pub(super) fn check(&mut self, index: usize, network: &mut Network) {
        let slot = index - self.first_flow;
        let made = self.slots[slot].as_ref().expect("the connection that the packet was of");
        if made.is_closed() {
            self.leave(slot, network);
        }
    }

    /// The transfer of a slot is complete: the slot is free once no packet is under way.
    fn leave(&mut self, slot: usize, network: &mut Network) {
        let made = self.slots[slot].as_mut().expect("a connection");
        if is_quiet(&made.flow, network, self.first_flow + slot) {
            self.release(slot, network);
        } else if !made.leaves {
            made.leaves = true;
            self.leaving.push(slot);
        }
    }

    /// Release connections that have become quiet through drops, because a drop reaches no end.
    fn release_leaving(&mut self, network: &mut Network) {
        for slot in std::mem::take(&mut self.leaving) {
            match &self.slots[slot] {
                Some(made) if made.leaves => {}
                _ => continue,
            }
            if self.slots[slot].as_ref().is_some_and(|made| is_quiet(&made.flow, network, self.first_flow + slot)) {
                self.release(slot, network);
            } else {
                self.leaving.push(slot);
            }
        }
    }

    fn release(&mut self, slot: usize, network: &mut Network) {
        let made = *self.slots[slot].take().expect("a connection");
        let index = self.first_flow + slot;
        self.delivered_packets += made.flow.receiver.counters().arrived;
        let group = &mut self.groups[made.group];
        group.count(&made);
        if group.making.rows {
            let row = FlowRow::of(&made.flow, &network.drops[index], (0, 0), self.network.duration_ns);
            group.rows.push((made.number, row));
        }
        let first = network.events.first_of_slot(slot);
        (first..first + FLOW_SOURCES).for_each(|source| network.events.set(source, NEVER));
        network.forget_flow(index);
        if self.reuses {
            self.free.push(slot);
        }
    }

    /// The connections that are alive, in the order in which they were made, with their indices.
    pub(super) fn alive(&self) -> Vec<(usize, &Flow)> {
        let indexed = self.slots.iter().enumerate();
        let mut alive: Vec<_> = indexed.filter_map(|(i, made)| Some((self.first_flow + i, made.as_deref()?))).collect();
        alive.sort_by_key(|(_, made)| made.serial);
        alive.into_iter().map(|(i, made)| (i, &made.flow)).collect()
    }

    /// Connections made so far.
    #[cfg(test)]
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Slots that there are.
    pub(super) fn taken(&self) -> usize {
        self.slots.len()
    }

    /// Data packets delivered so far.
    pub(super) fn delivered_packets(&self) -> u64 {
        self.delivered_packets + self.alive().iter().map(|(_, flow)| flow.receiver.counters().arrived).sum::<u64>()
    }

    /// At the end of the run: add the rows of connections to the table of flows, group by group in the order in which they were made, and
    /// add the groups to theirs. `inside` holds the packets still under way, by index of the flow.
    pub(super) fn finish(self, network: &Network, inside: &[(u64, u64)], flows: &mut Rows, groups: &mut Rows) {
        let mut made_by = self.groups;
        for (slot, made) in self.slots.iter().enumerate() {
            let Some(made) = made.as_deref() else { continue };
            let (index, group) = (self.first_flow + slot, &mut made_by[made.group]);
            group.count(made);
            if group.making.rows {
                let row = FlowRow::of(&made.flow, &network.drops[index], inside[index], self.network.duration_ns);
                group.rows.push((made.number, row));
            }
        }
        for mut group in made_by {
            group.rows.sort_by_key(|(number, _)| *number);
            group.rows.iter().for_each(|(number, row)| flows.push(&group.name(*number), &row.0));
            group.totals.push(&group.making.tcp.id, groups);
        }
    }
}

impl Coming for Slots<'_> {
    fn gone(&self, workload: usize) -> &GroupTotals {
        &self.groups[workload].totals
    }

    fn alive(&self, workload: usize) -> impl Iterator<Item = (usize, &Flow)> {
        let made = self.slots.iter().zip(self.first_flow..).filter_map(|(made, i)| Some((i, made.as_deref()?)));
        made.filter(move |(_, made)| made.group == workload).map(|(i, made)| (i, &made.flow))
    }
}

/// Return the time that the transfer took, if it is complete.
fn completion(flow: &Flow) -> Option<Time> {
    Some(flow.receiver.completed()? - flow.start)
}

/// Every packet of a flow has arrived or was dropped.
fn is_quiet(flow: &Flow, network: &Network, index: usize) -> bool {
    let (s, r, drops) = (flow.sender.counters(), flow.receiver.counters(), &network.drops[index]);
    s.sent + drops.data_copies == r.arrived + drops.data
        && r.acks_sent + drops.ack_copies == s.acks_arrived + drops.acks
}
