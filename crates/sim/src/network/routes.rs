//! The ways of packets through the ports.

use crate::packet::{Direction, Packet};
use crate::time::Time;

/// After the last port of a way.
const END: u16 = u16::MAX;

/// The ways of a flow's packets.
#[derive(Clone, Copy, Debug)]
pub struct FlowWay {
    /// For each direction: start of the way of its packets.
    pub begin: [u32; 2],
    /// The RTT that the flow has of its own, ns; 0: none.
    pub rtt: Time,
    /// For each direction: true if the first port of its packets is on the host that sends them, and the host's transport wants to know the
    /// fate of the packets there.
    pub egress: [bool; 2],
}

/// The ports that packets enter after a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// No way goes through it yet.
    Nothing,
    /// The same port, or `END`, on all ways.
    One(u16),
    /// Several ports, depending on the way.
    Several,
}

/// The ways of all flows. Flows of one path share its ways, so that little is read for every packet.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// For each flow: [`FlowWay::begin`].
    begin: Vec<[u32; 2]>,
    /// For each flow: [`FlowWay::egress`].
    egress: Vec<[bool; 2]>,
    /// For each flow: [`FlowWay::rtt`].
    rtts: Vec<Time>,
    /// The ports of all ways, one after another, each with `END` behind it.
    ports: Vec<u16>,
    /// The next ports of each port. Most ports have one, so that the ways need not be looked at.
    after: Vec<After>,
}

impl Routes {
    /// Adds a way; returns where it begins.
    pub fn add_way(&mut self, ports: &[usize]) -> u32 {
        let begin = self.ports.len() as u32;
        self.ports.extend(ports.iter().map(|&port| port as u16));
        self.ports.push(END);
        for next in begin as usize + 1..self.ports.len() {
            let (port, next) = (usize::from(self.ports[next - 1]), self.ports[next]);
            self.after.resize(self.after.len().max(port + 1), After::Nothing);
            let after = &mut self.after[port];
            *after = if [After::Nothing, After::One(next)].contains(after) { After::One(next) } else { After::Several };
        }
        begin
    }

    /// Adds a flow.
    pub fn add_flow(&mut self, way: FlowWay) {
        self.begin.push(way.begin);
        self.egress.push(way.egress);
        self.rtts.push(way.rtt);
    }

    /// The flow with this index, at most one beyond all, is another one from now on.
    pub fn renew(&mut self, flow: usize, way: FlowWay) {
        if flow == self.flows() {
            return self.add_flow(way);
        }
        (self.begin[flow], self.egress[flow], self.rtts[flow]) = (way.begin, way.egress, way.rtt);
    }

    /// The RTT that each flow has of its own, ns; 0: none.
    #[inline]
    #[must_use]
    pub fn rtts(&self) -> &[Time] {
        &self.rtts
    }

    /// Number of flows.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.begin.len()
    }

    /// True if the first port of a flow's packets in a direction is on the host that sends them, and the host's transport wants to know the
    /// fate of the packets there.
    #[must_use]
    pub fn has_egress(&self, flow: usize, direction: Direction) -> bool {
        self.egress[flow][direction as usize]
    }

    /// True if a packet is at the first port of its way, that port is on the host that sends the packet, and the host's transport wants
    /// to know the packet's fate.
    #[must_use]
    pub fn is_own_queue(&self, p: &Packet) -> bool {
        p.way.hops() == 0 && self.has_egress(p.flow(), p.direction())
    }

    /// The first port of a flow's packets in a direction; `None` if there is none on their way.
    #[inline(always)]
    #[must_use]
    pub fn first(&self, flow: usize, direction: Direction) -> Option<usize> {
        self.port(self.begin[flow][direction as usize])
    }

    /// The port of `p` after `port`, the last of `hops`; `None` is its end.
    #[inline]
    #[must_use]
    pub fn next(&self, port: usize, p: &Packet, hops: usize) -> Option<usize> {
        match self.after[port] {
            After::One(next) => (next != END).then_some(usize::from(next)),
            After::Nothing | After::Several => self.next_of_way(p, hops),
        }
    }

    fn next_of_way(&self, p: &Packet, hops: usize) -> Option<usize> {
        self.port(self.begin[p.flow()][p.direction() as usize] + hops as u32)
    }

    #[inline]
    fn port(&self, at: u32) -> Option<usize> {
        let port = self.ports[at as usize];
        (port != END).then_some(usize::from(port))
    }
}

#[cfg(test)]
mod tests {
    use super::{After, FlowWay, Routes, END};
    use crate::packet::Direction::{Forward, Reverse};
    use crate::packet::Ecn;
    use crate::qdisc::lab::packet;

    #[test]
    fn flows_share_ways_and_each_ends() {
        let mut routes = Routes::default();
        let [out, back] = [&[3, 1][..], &[]].map(|ports| routes.add_way(ports));
        routes.add_flow(FlowWay { begin: [out, back], rtt: 7, egress: [false; 2] });
        routes.add_flow(FlowWay { begin: [back, out], rtt: 0, egress: [true, false] });
        assert_eq!(
            (routes.first(0, Forward), routes.first(0, Reverse), routes.first(1, Reverse)),
            (Some(3), None, Some(3))
        );
        assert_eq!(
            [(0, Forward), (1, Forward), (1, Reverse)].map(|(flow, direction)| routes.has_egress(flow, direction)),
            [false, true, false]
        );
        assert_eq!((routes.flows(), routes.rtts()), (2, &[7, 0][..]));
        assert_eq!([0, 1, 2].map(|hops| routes.port(out + hops)), [Some(3), Some(1), None]);
    }

    #[test]
    fn what_comes_after_a_port_is_that_of_the_way() {
        let mut routes = Routes::default();
        let [short, long] = [&[3, 1][..], &[3, 2, 1]].map(|ports| routes.add_way(ports));
        routes.add_flow(FlowWay { begin: [short; 2], rtt: 0, egress: [false; 2] });
        routes.add_flow(FlowWay { begin: [long; 2], rtt: 0, egress: [false; 2] });
        let walk = |flow| {
            let p = packet(flow, 66, 0, Ecn::NotEct);
            let mut ports = vec![];
            let mut at = routes.first(p.flow(), Forward);
            while let Some(port) = at {
                ports.push(port);
                at = routes.next(port, &p, ports.len());
            }
            ports
        };
        assert_eq!([walk(0), walk(1)], [vec![3, 1], vec![3, 2, 1]]);
        assert_eq!([1, 2, 3].map(|port| routes.after[port]), [After::One(END), After::One(1), After::Several]);
    }
}
