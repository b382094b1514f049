//! What segments are charged to the receive buffer while they wait to be read, or for what is missing: a segment that continues the one before
//! it gives up its head (Linux 6.12 net/ipv4/tcp_input.c `tcp_try_coalesce`; net/core/skbuff.c `skb_try_coalesce`).
//!
//! Leaves out: where exactly a segment lies in two fragments, which depends on what else the sending host has allocated.

use crate::packet::MSS;
use crate::tcp::linux::stack::Stack;

/// Segments that share a head: it has room for 17 fragments, and about every 23rd segment lies in two.
const PER_HEAD: u32 = 16;

/// What one segment is charged, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    alone: u64,
    /// It continues another one that waits.
    continuing: u64,
}

impl Cost {
    pub fn of(stack: &Stack) -> Self {
        let alone = u64::from(stack.receive_truesize);
        Self { alone, continuing: if stack.receive_coalescing { u64::from(MSS) } else { alone } }
    }

    /// Of the segment behind a run of `n` that wait.
    pub fn behind(&self, n: u32) -> u64 {
        if n.is_multiple_of(PER_HEAD) {
            self.alone
        } else {
            self.continuing
        }
    }

    /// Of a run of `n`.
    pub fn run(&self, n: u32) -> u64 {
        u64::from(n) * self.continuing + u64::from(n.div_ceil(PER_HEAD)) * (self.alone - self.continuing)
    }
}

/// The segments in order that the application has not read yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unread {
    /// What they are charged, bytes.
    pub charged: u64,
    /// How many share the last head.
    in_last: u32,
}

impl Unread {
    /// A segment comes in order.
    #[inline]
    pub fn add(&mut self, cost: &Cost) {
        self.charged += cost.behind(self.in_last);
        self.in_last = self.in_last % PER_HEAD + 1;
    }

    /// A run of `n` segments, which were charged `bytes`, follows what has come in order.
    pub fn add_run(&mut self, n: u32, bytes: u64, cost: &Cost) {
        if (1..=PER_HEAD - n.min(PER_HEAD)).contains(&self.in_last) {
            self.charged += bytes.saturating_sub(cost.alone - cost.continuing);
            self.in_last += n;
        } else {
            self.charged += bytes;
            self.in_last = (n - 1) % PER_HEAD + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::linux::test_ends::stack;

    #[test]
    fn segments_share_heads_as_in_the_kernel() {
        // Linux 6.12, by the windows that it advertised: 11 segments behind a gap; 66 with the missing one before them.
        let cost = Cost::of(&stack("linux-6.12"));
        assert_eq!(cost.run(11), 11 * 1448 + 832);
        let mut unread = Unread::default();
        unread.add(&cost);
        unread.add_run(66, cost.run(66), &cost);
        assert_eq!(unread.charged, 67 * 1448 + 6 * 832);
        let cost = Cost::of(&stack("linux-3.9"));
        assert_eq!((cost.run(3), cost.behind(3)), (3 * 2176, 2176));
    }

    #[test]
    fn a_run_costs_what_its_segments_cost_one_by_one() {
        let cost = Cost::of(&stack("linux-6.12"));
        for n in 1..100 {
            let (mut one_by_one, mut joined) = (Unread::default(), Unread::default());
            (0..n).for_each(|_| one_by_one.add(&cost));
            assert_eq!(one_by_one.charged, cost.run(n));
            joined.add(&cost);
            joined.add_run(n, cost.run(n), &cost);
            assert!(joined.charged == if n < PER_HEAD { cost.run(n + 1) } else { cost.run(n) + cost.run(1) });
        }
    }
}
