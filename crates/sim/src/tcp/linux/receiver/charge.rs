//! Bytes that segments are charged to the receive buffer while they wait to be read, or for a missing segment: a segment that continues the one before
//! it gives up its head (Linux 6.12 net/ipv4/tcp_input.c `tcp_try_coalesce`; net/core/skbuff.c `skb_try_coalesce`), as long as the other one has
//! room for its fragments.
//!
//! Leaves out: where a segment lies in two fragments if the sending host has allocated for other connections meanwhile, or if segments before it
//! are short.

use crate::tcp::linux::stack::Stack;

/// Fragments of a head (MAX_SKB_FRAGS), and of a segment at most.
pub(super) const FRAGMENTS: u32 = 17;
const MOST_FRAGMENTS: u32 = 2;
/// Bytes of the piece of memory that a sender takes at a time (net/core/sock.c `SKB_FRAG_PAGE_ORDER`): where it ends, a segment lies in two.
pub(super) const FRAGMENT: u32 = 32_768;
/// Room behind the headers in the head of a packet that TCP has sent, bytes: 256 without the 192 that are kept for headers (MAX_TCP_HEADER).
const TAILROOM: u32 = 64;
/// Less room than this in a piece of memory is not used, bytes (`sk_page_frag_refill`).
pub(super) const LEAST_FRAGMENT: u32 = 32;

/// The memory that one segment is charged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Beside its payload: the head, with sk_buff and shared info, bytes.
    pub head: u64,
    /// A segment that continues another one that waits gives up its head.
    shared: bool,
    /// Room behind the headers in a head, bytes.
    tailroom: u32,
    /// Bytes that a number stands for: a full segment, or one byte.
    per_number: u32,
    /// So many numbers take whole pieces of memory, but for an end that is not used.
    period: u32,
    /// So many full segments share a head whatever their fragments are, which need not be counted then.
    sure: u32,
}

impl Cost {
    /// Costs of segments of `mss` bytes.
    pub fn of(stack: &Stack, mss: u32) -> Self {
        let is_over = |n: &u32| (FRAGMENT - n * mss % FRAGMENT) % FRAGMENT < LEAST_FRAGMENT;
        Self {
            head: u64::from(stack.receive_charge(0)),
            shared: stack.receive_coalescing,
            tailroom: TAILROOM,
            per_number: mss,
            period: (1..=FRAGMENT).find(is_over).unwrap_or(FRAGMENT),
            sure: if stack.receive_coalescing && mss > TAILROOM { FRAGMENTS / MOST_FRAGMENTS } else { 0 },
        }
    }

    /// The cost of segments whose numbers count bytes.
    pub fn in_bytes(self) -> Self {
        Self { per_number: 1, period: FRAGMENT, sure: 0, ..self }
    }

    /// The cost of packets with so much room in their heads. Each lies in one fragment.
    pub fn unfragmented(self, tailroom: u32) -> Self {
        Self { period: 1, sure: 0, tailroom, ..self }
    }

    /// How many fragments a segment of `payload` bytes is that begins at `seq`.
    fn fragments(&self, seq: u32, payload: u32) -> u32 {
        let at = (seq.wrapping_sub(1) % self.period) * self.per_number % FRAGMENT;
        u32::from(payload > 0) + u32::from(at + payload > FRAGMENT)
    }
}

/// Segments that share a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub start: u32,
    pub end: u32,
    /// Their payload, bytes.
    pub payload: u32,
    /// The part of the payload that was moved into the head itself, and is not charged apart.
    inside: u32,
    /// Fragments; 0 as long as nobody had to count them, which few do of a single segment or of a few full ones.
    fragments: u32,
}

impl Head {
    /// The head of the segment `[start, end)` with so many bytes.
    #[inline]
    pub fn of(start: u32, end: u32, payload: u32) -> Self {
        Self { start, end, payload, inside: 0, fragments: 0 }
    }

    /// A segment that stays alone is moved into its head if there is room (`skb_condense`).
    pub fn condense(&mut self, cost: &Cost) {
        if cost.shared && self.payload <= cost.tailroom {
            self.inside = self.payload;
        }
    }

    fn fragments(&self, cost: &Cost) -> u32 {
        if self.fragments > 0 {
            self.fragments
        } else if self.inside == self.payload {
            0
        } else if cost.sure > 0 && self.is_of_full(cost) {
            (self.start..self.end).map(|seq| cost.fragments(seq, cost.per_number)).sum()
        } else {
            cost.fragments(self.start, self.payload)
        }
    }

    /// All its segments are full.
    #[inline]
    fn is_of_full(&self, cost: &Cost) -> bool {
        self.payload == (self.end - self.start) * cost.per_number
    }

    /// Joins the head that follows. Inlined, since most segments out of order are joined to one. Returns its charge after that, bytes. `None` if there is no room, or if it does not continue this one.
    #[inline(always)]
    pub fn join(&mut self, next: &Self, cost: &Cost) -> Option<u64> {
        if !cost.shared || self.end != next.start {
            return None;
        }
        if next.end - self.start <= cost.sure && self.is_of_full(cost) && next.is_of_full(cost) {
            self.end = next.end;
            self.payload += next.payload;
            return Some(u64::from(next.payload));
        }
        self.join_by_count(next, cost)
    }

    /// [`Self::join`], where fragments must be counted.
    #[inline(never)]
    fn join_by_count(&mut self, next: &Self, cost: &Cost) -> Option<u64> {
        let fragments = self.fragments(cost);
        let room = if fragments == 0 { cost.tailroom - self.inside } else { 0 };
        let charged = if next.payload <= room {
            self.inside += next.payload;
            0
        } else {
            let fragments = fragments + next.fragments(cost);
            if next.inside > 0 || fragments > FRAGMENTS {
                return None;
            }
            self.fragments = fragments;
            u64::from(next.payload)
        };
        self.end = next.end;
        self.payload += next.payload;
        Some(charged)
    }

    /// Bytes that its segments are charged.
    pub fn charged(&self, cost: &Cost) -> u64 {
        cost.head + u64::from(self.payload - self.inside)
    }
}

/// The segments in order that the application has not read yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unread {
    /// Bytes that they are charged.
    pub charged: u64,
    /// Segments of the last head; and the end of those of the first head.
    last: Option<Head>,
    first_end: u32,
    /// Their payload, bytes.
    payload: u64,
}

impl Unread {
    /// A segment comes in order that is read before the next one comes.
    #[inline]
    pub fn add_last(&mut self, head: &Head, cost: &Cost) {
        if self.last.is_some() {
            self.add_head(head, cost);
        } else {
            // Nobody asks what shares its head.
            self.charged += head.charged(cost);
        }
    }

    /// Segments that share a head come in order.
    pub fn add_head(&mut self, head: &Head, cost: &Cost) {
        self.payload += u64::from(head.payload);
        let Some(last) = &mut self.last else {
            self.charged += head.charged(cost);
            self.last = Some(*head);
            self.first_end = head.end;
            return;
        };
        let Some(charged) = last.join(head, cost) else {
            self.charged += head.charged(cost);
            *last = *head;
            return;
        };
        self.charged += charged;
        if self.first_end == head.start {
            self.first_end = head.end;
        }
    }

    /// There are no data among them.
    pub fn is_empty(&self) -> bool {
        self.payload == 0
    }

    /// How many segments do not share the first head.
    pub fn behind_first(&self) -> u32 {
        self.last.map_or(0, |last| last.end - self.first_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;
    use crate::tcp::linux::test_ends::stack;

    fn full(seq: u32) -> Head {
        Head::of(seq, seq + 1, MSS)
    }

    fn unread(segments: impl Iterator<Item = u32>, cost: &Cost) -> Unread {
        let mut unread = Unread::default();
        segments.for_each(|seq| unread.add_head(&full(seq), cost));
        unread
    }

    #[test]
    fn segments_share_heads_as_in_the_kernel() {
        // Linux 6.12, by the windows that it advertised: 11 segments behind a gap; 66 with the missing one before them.
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        assert_eq!(unread(2..13, &cost).charged, 11 * 1448 + 832);
        let mut all = unread(2..3, &cost);
        let mut heads: Vec<Head> = vec![];
        for head in (3..69).map(full) {
            if heads.last_mut().is_none_or(|last| last.join(&head, &cost).is_none()) {
                heads.push(head);
            }
        }
        heads.iter().for_each(|head| all.add_head(head, &cost));
        assert_eq!(all.charged, 67 * 1448 + 6 * 832);
        let cost = Cost::of(&stack("linux-3.9"), MSS);
        assert_eq!(unread(2..5, &cost).charged, 3 * 2176);
        assert_eq!(unread(2..5, &cost).behind_first(), 2);
    }

    #[test]
    fn a_segment_where_a_piece_of_memory_ends_is_two_fragments() {
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        let ends: Vec<_> = (1..70).filter(|&seq| cost.fragments(seq, MSS) == 2).collect();
        // 32,768 bytes are 22.6 segments.
        assert_eq!(ends, [23, 46, 68]);
        // After 611 segments 8 bytes are left, which are not used.
        assert_eq!((1..=611).map(|seq| cost.fragments(seq, MSS) - 1).sum::<u32>(), 26);
        assert_eq!(
            (612..=634).map(|seq| cost.fragments(seq, MSS)).collect::<Vec<_>>(),
            [vec![1; 22], vec![2]].concat()
        );
    }

    #[test]
    fn a_head_has_room_for_17_fragments_and_is_joined_as_a_whole() {
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        assert_eq!(unread(1..19, &cost).behind_first(), 1);
        assert_eq!(unread(10..28, &cost).behind_first(), 2, "segment 23 has two");
        // A segment that filled the gap has a head of its own if those behind it have none to spare.
        let mut all = unread(1..2, &cost);
        let mut behind = full(2);
        (3..19).for_each(|seq| assert_eq!(behind.join(&full(seq), &cost), Some(1448)));
        all.add_head(&behind, &cost);
        assert_eq!((all.charged, all.behind_first()), (18 * 1448 + 2 * 832, 17));
        assert_eq!(behind.join(&full(20), &cost), None, "19 is missing");
    }

    #[test]
    fn a_very_short_segment_out_of_order_is_moved_into_its_head_and_stays_there() {
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        let condensed = |seq, payload| {
            let mut head = Head::of(seq, seq + 1, payload);
            head.condense(&cost);
            head
        };
        let mut head = condensed(5, 40);
        assert_eq!((head.charged(&cost), condensed(5, 65).charged(&cost)), (832, 832 + 65));
        assert_eq!(full(4).join(&head, &cost), None);
        assert_eq!(head.join(&Head::of(6, 7, 24), &cost), Some(0), "there is room for 24 bytes more");
        assert_eq!(head.join(&full(7), &cost), Some(1448));
        assert_eq!((head.charged(&cost), head.join(&Head::of(8, 9, 0), &cost)), (832 + 1448, Some(0)));
        let mut in_order = Head::of(1, 2, 40);
        assert_eq!(in_order.join(&Head::of(2, 3, 10), &cost), Some(10), "in order it stays where it is");
    }
}
