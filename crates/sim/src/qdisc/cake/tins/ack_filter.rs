//! The ACK filter: which ACK in a queue a newer one of its connection makes needless (Linux 6.12 net/sched/sch_cake.c, `cake_ack_filter`,
//! `cake_tcph_may_drop`, `cake_tcph_sack_compare`).

use crate::attachment::{Attachments, Blocks};
use crate::packet::{flags, Carries, FlowTuple, Kind, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::qdisc::QueueContext;
use crate::spec::CakeAckFilter;

/// The fields of a TCP header that the filter reads.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// The number that it acknowledges all before, segments.
    ack: u32,
    /// It opens a connection, or acknowledges nothing.
    opens: bool,
    /// It has nothing but an ACK.
    bare: bool,
    /// ECE and CWR.
    echoes: u16,
    timestamps: (u32, u32),
    blocks: Blocks,
}

/// Flags that say more than an ACK may. The former NS bit is one of the reserved flags.
const TELLING: u16 = flags::SYN | flags::FIN | flags::RST | flags::PSH | flags::ESCE;

impl Header {
    /// Return the header of a packet, or `None` if the packet is not TCP.
    fn of(p: &Packet, tuple: &FlowTuple, attachments: &Attachments) -> Option<Self> {
        if p.kind() == Kind::Datagram {
            return None;
        }
        let opens = p.has(flags::SYN);
        let attached = attachments.get(p);
        let header = tuple.options.headers() + attached.blocks.option_bytes();
        let ack = match tuple.carries {
            Carries::BothWays if !p.is_reverse() => attached.other_seq,
            Carries::OneWay if !p.is_reverse() => 1 + u32::from(p.has(flags::CLOSED)),
            Carries::OneWay | Carries::BothWays => p.seq,
        };
        Some(Self {
            ack,
            opens,
            bare: p.flags & TELLING == 0 && u32::from(p.len) == header,
            echoes: p.flags & (flags::ECE | flags::CWR),
            timestamps: (p.tsval, p.tsecr),
            blocks: attached.blocks,
        })
    }

    /// It may be dropped because of `newer`, which is of the same connection and direction, as far as ECN is not concerned.
    fn is_covered_by(&self, newer: &Self) -> bool {
        let later = after(self.timestamps.0, newer.timestamps.0) || after(self.timestamps.1, newer.timestamps.1);
        if !self.bare || later || after(self.ack, newer.ack) {
            return false;
        }
        match compare(self, newer) {
            More::First => false,
            More::Neither => self.ack != newer.ack,
            More::Second => true,
        }
    }
}

/// The one of two headers that says more by its SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    First,
    Neither,
    Second,
}

/// Compares SACK blocks. The first says more also if each has something that the other has not, and if it reports a duplicate.
fn compare(a: &Header, b: &Header) -> More {
    let (of_a, of_b) = (a.blocks.as_slice(), b.blocks.as_slice());
    match (of_a.is_empty(), of_b.is_empty()) {
        (true, true) => return More::Neither,
        (false, true) => return More::First,
        (true, false) => return More::Second,
        (false, false) => {}
    }
    let covered = |&(start, end): &(u32, u32)| of_b.iter().any(|&(s, e)| !after(s, start) && !after(end, e));
    if of_a.iter().any(|block| after(a.ack, block.0) || !covered(block)) {
        return More::First;
    }
    let size = |blocks: &[(u32, u32)]| blocks.iter().map(|&(start, end)| end.wrapping_sub(start)).sum::<u32>();
    if size(of_b) > size(of_a) {
        More::Second
    } else {
        More::Neither
    }
}

/// A number comes after another one.
fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

/// The packet of a queue that the one which was added last makes needless, and the packet before it.
pub(super) fn needless(filter: CakeAckFilter, queue: &Queue, s: &QueueContext) -> Option<(Option<Id>, Id)> {
    let read = |id: Id, pool: &Pool| {
        let p = &pool[id].packet;
        (p.flow(), p.direction(), Header::of(p, &s.tuples[p.flow()], &s.attachments))
    };
    let last = queue.last()?;
    let (flow, direction, Some(newer)) = read(last, &s.packets) else { return None };
    if newer.opens {
        return None;
    }
    let mut eligible: Option<(Option<Id>, Id)> = None;
    let mut echoes = 0;
    let (mut found, mut before) = (0, None);
    for id in queue.ids(&s.packets).take(queue.len() - 1) {
        let previous = before.replace(id);
        let (its_flow, its_direction, Some(header)) = read(id, &s.packets) else { continue };
        if (its_flow, its_direction) != (flow, direction) {
            continue;
        }
        // Dropping the ACK before this one would lose the ECN flags that it echoed.
        if eligible.is_some() && header.echoes != echoes {
            eligible = None;
            found -= 1;
        }
        if !header.is_covered_by(&newer) {
            continue;
        }
        if eligible.is_none() {
            (eligible, echoes) = (Some((previous, id)), header.echoes);
        }
        found += 1;
        if found > 1 {
            return eligible;
        }
    }
    // A single ACK goes only if it is next to the new one and echoes the same.
    let next_to = eligible.is_some_and(|(_, id)| before == Some(id));
    eligible.filter(|_| filter == CakeAckFilter::Aggressive && next_to && echoes == newer.echoes)
}
