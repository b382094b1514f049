//! An application that reads at a rate: at each of its turns as much as the rate has brought since the one before. What it has not read takes room in
//! the buffer, and closes the window (Linux 6.12 net/ipv4/tcp.c `tcp_recvmsg_locked`, `__tcp_cleanup_rbuf`). Of segments that share a head the
//! memory is free once all are read (net/core/skbuff.c `skb_try_coalesce`: a head has room for 17 fragments; a segment is one, or two where the
//! sender's memory, of which it takes 32 KiB at a time, ended in it).

use std::collections::VecDeque;

use super::charge::{Cost, FRAGMENT, FRAGMENTS, LEAST_FRAGMENT};
use super::Receiver;
use crate::outbox::Outbox;
use crate::time::{Time, MS, SEC, US};

/// From one turn of the application to the next, ns.
pub const TURN: Time = 10 * MS;
/// Bits of a byte.
const BITS: u128 = 8;

/// Segments that share a head and wait to be read.
#[derive(Clone, Copy, Debug)]
struct Shared {
    fragments: u32,
    /// Payload that was not read yet, bytes.
    left: u64,
    charged: u64,
}

/// The application and what waits for it. Told of every segment in order; reads when it is its turn.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    rate_bps: u64,
    turns: u64,
    /// Bytes that came, and room that the sender's piece of memory has behind them.
    arrived: u64,
    piece_left: u64,
    waiting: VecDeque<Shared>,
    /// Bytes read.
    pub read: u64,
    /// Of these, what was read when the buffer was adapted last.
    adapted: u64,
}

impl Reader {
    /// It has read nothing yet.
    pub fn new(rate_bps: u64) -> Self {
        Self { rate_bps, turns: 0, arrived: 0, piece_left: 0, waiting: VecDeque::new(), read: 0, adapted: 0 }
    }

    /// A segment of `payload` bytes came in order.
    pub fn add(&mut self, payload: u32, cost: &Cost) {
        let payload = u64::from(payload);
        let fragments = self.place(payload);
        self.arrived += payload;
        match self.waiting.back_mut().filter(|last| cost.is_shared() && last.fragments + fragments <= FRAGMENTS) {
            Some(last) => {
                last.charged += cost.continuing;
                last.fragments += fragments;
                last.left += payload;
            }
            None => self.waiting.push_back(Shared { fragments, left: payload, charged: cost.alone }),
        }
    }

    /// Where the sender has put a segment: in the piece of memory in hand, as long as that has room for a little, and in the next; returns in how many
    /// fragments (net/core/sock.c `sk_page_frag_refill`).
    fn place(&mut self, payload: u64) -> u32 {
        let (mut left, mut fragments) = (payload, 0);
        while left > 0 {
            if self.piece_left < u64::from(LEAST_FRAGMENT) {
                self.piece_left = u64::from(FRAGMENT);
            }
            let taken = left.min(self.piece_left);
            self.piece_left -= taken;
            left -= taken;
            fragments += 1;
        }
        fragments
    }

    /// Memory that what waits is charged, bytes.
    pub fn charged(&self) -> u64 {
        self.waiting.iter().map(|each| each.charged).sum()
    }

    /// Everything that came is read.
    pub fn has_read_all(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The application's turn: how many bytes it reads.
    fn take_turn(&mut self) -> u64 {
        let mut most = brought(self.rate_bps, self.turns);
        self.turns += 1;
        let before = self.read;
        while let Some(first) = self.waiting.front_mut().filter(|_| most > 0) {
            let taken = first.left.min(most);
            first.left -= taken;
            most -= taken;
            self.read += taken;
            if first.left == 0 {
                self.waiting.pop_front();
            }
        }
        self.read - before
    }
}

/// Bytes that an application at this rate reads in a turn, counted from 0.
#[must_use]
pub fn brought(rate_bps: u64, turn: u64) -> u64 {
    let due = |turns: u64| u128::from(turns) * u128::from(rate_bps) * u128::from(TURN) / u128::from(SEC) / BITS;
    (due(turn + 1) - due(turn)) as u64
}

impl Receiver {
    /// A segment in order waits for the application's turn.
    pub(super) fn leave_unread(&mut self, payload: u32) {
        if let Some(reader) = &mut self.reader {
            reader.add(payload, &self.kernel.cost);
            self.unread.charged = reader.charged();
        }
    }

    /// The turn of an application that reads at a rate.
    pub fn on_turn(&mut self, out: &mut impl Outbox) {
        let Some(reader) = &mut self.reader else { return };
        // That there is no more is said to a read that finds nothing.
        let finds_nothing = reader.has_read_all();
        let read = reader.take_turn();
        let (charged, all) = (reader.charged(), reader.has_read_all());
        if read > 0 {
            if self.buffer.is_to_tune(out.now()) {
                let waiting = reader.arrived - reader.read;
                self.buffer.tune((reader.read - reader.adapted).saturating_sub(waiting), out.now() / US);
                reader.adapted = reader.read;
            }
            self.unread.charged = charged;
            self.ack_after_read(true, out);
        }
        if all && self.rcv_nxt >= self.layout.end() {
            self.completed.get_or_insert(out.now());
        }
        if finds_nothing {
            self.close_at_end(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;
    use crate::tcp::linux::test_ends::stack;

    #[test]
    fn it_reads_its_rate_and_frees_what_is_read_whole() {
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        let mut reader = Reader::new(1_234_567);
        (0..40).for_each(|_| reader.add(MSS, &cost));
        // Heads of 17 and of 16 segments, of which the 23rd lies in two pieces, and the rest.
        assert_eq!(reader.charged(), 40 * cost.continuing + 3 * (cost.alone - cost.continuing));
        let first = reader.take_turn();
        assert_eq!((first, reader.charged()), (1543, 40 * cost.continuing + 3 * (cost.alone - cost.continuing)));
        let read: u64 = (1..20).map(|_| reader.take_turn()).sum::<u64>() + first;
        assert_eq!((read, reader.read), (1_234_567 / 8 / 5, read));
        let left = 23 * cost.continuing + 2 * (cost.alone - cost.continuing);
        assert_eq!(reader.charged(), left, "17 segments are read whole, and part of the next head");
        (0..20).for_each(|_| {
            reader.take_turn();
        });
        assert!(reader.has_read_all());
        assert_eq!(
            (reader.read, reader.take_turn()),
            (40 * u64::from(MSS), 0),
            "what was not there is not made up for"
        );
    }
}
