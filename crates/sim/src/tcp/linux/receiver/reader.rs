//! An application that reads at a rate: at each of its turns as much as the rate has brought since the one before. What it has not read takes room in
//! the buffer, and closes the window (Linux 6.12 net/ipv4/tcp.c `tcp_recvmsg_locked`, `__tcp_cleanup_rbuf`). Of segments that share a head the
//! memory is free once all are read (see [`Head`]).

use std::collections::VecDeque;

use super::charge::{Cost, Head};
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
    head: Head,
    /// Payload that was not read yet, bytes.
    left: u64,
}

/// The bytes that a turn has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turn {
    all: u64,
    /// The bytes among them that lay in the first head.
    first: u64,
}

/// The application and what waits for it. Told of every segment in order; reads when it is its turn.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    rate_bps: u64,
    turns: u64,
    waiting: VecDeque<Shared>,
    charged: u64,
    /// Bytes read.
    pub read: u64,
}

impl Reader {
    /// It has read nothing yet.
    pub fn new(rate_bps: u64) -> Self {
        Self { rate_bps, turns: 0, waiting: VecDeque::new(), charged: 0, read: 0 }
    }

    /// Segments that share a head came in order.
    pub fn add(&mut self, head: &Head, cost: &Cost) {
        let payload = u64::from(head.payload);
        if let Some(last) = self.waiting.back_mut() {
            if let Some(charged) = last.head.join(head, cost) {
                last.left += payload;
                self.charged += charged;
                return;
            }
        }
        self.waiting.push_back(Shared { head: *head, left: payload });
        self.charged += head.charged(cost);
    }

    /// Memory that what waits is charged, bytes.
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// Everything that came is read.
    pub fn has_read_all(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The application's turn.
    fn take_turn(&mut self, cost: &Cost) -> Turn {
        let mut most = brought(self.rate_bps, self.turns);
        self.turns += 1;
        let mut turn = Turn::default();
        while let Some(first) = self.waiting.front_mut().filter(|_| most > 0) {
            let taken = first.left.min(most);
            first.left -= taken;
            most -= taken;
            turn.first = if turn.all == 0 { taken } else { turn.first };
            turn.all += taken;
            if first.left == 0 {
                self.charged -= first.head.charged(cost);
                self.waiting.pop_front();
            }
        }
        self.read += turn.all;
        turn
    }
}

/// Bytes that an application at this rate reads in a turn, counted from 0.
#[must_use]
pub fn brought(rate_bps: u64, turn: u64) -> u64 {
    let due = |turns: u64| u128::from(turns) * u128::from(rate_bps) * u128::from(TURN) / u128::from(SEC) / BITS;
    (due(turn + 1) - due(turn)) as u64
}

impl Receiver {
    /// Lets a segment in order wait to be read.
    #[inline]
    pub(super) fn queue(&mut self, head: &Head) {
        if let Some(reader) = &mut self.reader {
            reader.add(head, &self.kernel.cost);
            self.unread.charged = reader.charged();
        } else if self.kernel.charges_in_order {
            self.unread.add_head(head, &self.kernel.cost);
        }
    }

    /// The turn of an application that reads at a rate.
    pub fn on_turn(&mut self, out: &mut impl Outbox) {
        let arrived = self.bytes_of_data(self.rcv_nxt) + u64::from(self.has_ended());
        let early = self.bytes_early();
        let Some(reader) = &mut self.reader else { return };
        let read_before = reader.read;
        let Turn { all, first } = reader.take_turn(&self.kernel.cost);
        let by_arrival = self.kernel.tunes_by_arrival;
        if all > 0 && !by_arrival {
            self.compression.look(out.now());
        }
        let clock = if by_arrival { self.compression.looked() } else { out.now() };
        if all > 0 && self.buffer.is_to_tune(clock) {
            // Linux copied the payload of the first head then, and nothing else.
            let read = read_before + first;
            self.buffer.tune(read, arrived - read, early, clock / US);
        }
        self.unread.charged = reader.charged();
        let has_read_all = reader.has_read_all();
        let acks = self.counters.acks_sent;
        self.ack_after_read(all > 0, out);
        if self.counters.acks_sent > acks {
            self.compression.look(out.now());
        }
        if has_read_all && self.rcv_nxt >= self.layout.end() {
            self.completed.get_or_insert(out.now());
        }
        // That there is no more is said to a read that finds nothing.
        if all == 0 {
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
        (1..41).for_each(|seq| reader.add(&Head::of(seq, seq + 1, MSS), &cost));
        // Heads of 17 and of 16 segments, of which the 23rd lies in two pieces, and the rest.
        let charged = |segments, heads| segments * u64::from(MSS) + heads * cost.head;
        assert_eq!(reader.charged(), charged(40, 3));
        let first = reader.take_turn(&cost).all;
        assert_eq!((first, reader.charged()), (1543, charged(40, 3)));
        let read: u64 = (1..20).map(|_| reader.take_turn(&cost).all).sum::<u64>() + first;
        assert_eq!((read, reader.read), (1_234_567 / 8 / 5, read));
        assert_eq!(reader.charged(), charged(23, 2), "17 segments are read whole, and part of the next head");
        let over: Vec<_> = (0..20).map(|_| reader.take_turn(&cost)).filter(|turn| turn.first < turn.all).collect();
        assert_eq!(over, [Turn { all: 1543, first: 1488 }], "it ends a head");
        assert!(reader.has_read_all());
        assert_eq!(
            (reader.read, reader.take_turn(&cost)),
            (40 * u64::from(MSS), Turn::default()),
            "what was not there is not made up for"
        );
    }
}
