//! The ACK filter: which ACK in a queue a newer one of its connection makes needless (Linux 6.12 net/sched/sch_cake.c, `cake_ack_filter`,
//! `cake_tcph_may_drop`, `cake_tcph_sack_compare`).

use crate::headers::AckHeader;
use crate::pool::{Id, Pool, Queue};
use crate::qdisc::QueueContext;
use crate::spec::CakeAckFilter;

/// True if a packet may be dropped because of a newer one of the same connection and direction, as far as ECN is not concerned.
fn is_covered(older: &AckHeader, newer: &AckHeader) -> bool {
    let later = after(older.timestamps.0, newer.timestamps.0) || after(older.timestamps.1, newer.timestamps.1);
    if !older.bare || later || after(older.ack, newer.ack) {
        return false;
    }
    match compare(older, newer) {
        More::First => false,
        More::Neither => older.ack != newer.ack,
        More::Second => true,
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
fn compare(a: &AckHeader, b: &AckHeader) -> More {
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
        (p.flow(), p.direction(), s.headers.ack(p, &s.tuples[p.flow()], &s.attachments))
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
        if !is_covered(&header, &newer) {
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
