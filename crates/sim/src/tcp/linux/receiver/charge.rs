//! What segments are charged to the receive buffer while they wait to be read, or for what is missing: a segment that continues the one before
//! it gives up its head (Linux 6.12 net/ipv4/tcp_input.c `tcp_try_coalesce`; net/core/skbuff.c `skb_try_coalesce`).
//!
//! Leaves out: where exactly a segment lies in two fragments, which depends on what else the sending host has allocated.

use crate::tcp::linux::stack::Stack;

/// Fragments of a head (MAX_SKB_FRAGS), and bytes of one (`SKB_FRAG_PAGE_ORDER`): where it ends, a segment lies in two.
pub(super) const FRAGMENTS: u32 = 17;
pub(super) const FRAGMENT: u32 = 32_768;

/// What one segment is charged, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub alone: u64,
    /// It continues another one that waits.
    pub continuing: u64,
    /// Segments that share a head.
    per_head: u32,
}

impl Cost {
    /// Of segments of `mss` bytes.
    pub fn of(stack: &Stack, mss: u32) -> Self {
        let alone = u64::from(stack.receive_charge(mss));
        let continuing = if stack.receive_coalescing { u64::from(mss) } else { alone };
        Self { alone, continuing, per_head: FRAGMENTS * FRAGMENT / (FRAGMENT + mss) }
    }

    /// Of the segment behind a run of `n` that wait.
    pub fn behind(&self, n: u32) -> u64 {
        if n.is_multiple_of(self.per_head) {
            self.alone
        } else {
            self.continuing
        }
    }

    /// Of a run of `n`.
    pub fn run(&self, n: u32) -> u64 {
        u64::from(n) * self.continuing + u64::from(n.div_ceil(self.per_head)) * (self.alone - self.continuing)
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
        self.in_last = self.in_last % cost.per_head + 1;
    }

    /// A run of `n` segments, which were charged `bytes`, follows what has come in order.
    pub fn add_run(&mut self, n: u32, bytes: u64, cost: &Cost) {
        let per_head = cost.per_head;
        if (1..=per_head - n.min(per_head)).contains(&self.in_last) {
            self.charged += bytes.saturating_sub(cost.alone - cost.continuing);
            self.in_last += n;
        } else {
            self.charged += bytes;
            self.in_last = (n - 1) % per_head + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;
    use crate::tcp::linux::test_ends::stack;

    #[test]
    fn segments_share_heads_as_in_the_kernel() {
        // Linux 6.12, by the windows that it advertised: 11 segments behind a gap; 66 with the missing one before them.
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        assert_eq!(cost.run(11), 11 * 1448 + 832);
        let mut unread = Unread::default();
        unread.add(&cost);
        unread.add_run(66, cost.run(66), &cost);
        assert_eq!(unread.charged, 67 * 1448 + 6 * 832);
        let cost = Cost::of(&stack("linux-3.9"), MSS);
        assert_eq!((cost.run(3), cost.behind(3)), (3 * 2176, 2176));
    }

    #[test]
    fn a_run_costs_what_its_segments_cost_one_by_one() {
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        for n in 1..100 {
            let (mut one_by_one, mut joined) = (Unread::default(), Unread::default());
            (0..n).for_each(|_| one_by_one.add(&cost));
            assert_eq!(one_by_one.charged, cost.run(n));
            joined.add(&cost);
            joined.add_run(n, cost.run(n), &cost);
            assert!(joined.charged == if n < cost.per_head { cost.run(n + 1) } else { cost.run(n) + cost.run(1) });
        }
    }
}
