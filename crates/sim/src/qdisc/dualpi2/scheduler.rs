//! The scheduler: the L4S queue goes first, unless it has used up its share of the link while classic packets wait (Linux 7.3
//! net/sched/sch_dualpi2.c `dequeue_packet`). RFC 9332, Appendix A, leaves the scheduler open.

/// A queue of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// L4S.
    L = 0,
    /// Classic.
    C = 1,
}

/// Weighted round robin by a credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduler {
    /// Bytes times per cent; the classic queue goes first if it is positive.
    credit: i64,
    /// Credit of empty queues.
    initial: i64,
    /// Shares of the L4S and the classic queue, per cent.
    shares: [i64; 2],
}

impl Scheduler {
    /// A scheduler that gives `protection` per cent to the classic queue, on a device whose largest frame has `frame` bytes.
    pub fn new(protection: u32, frame: u32) -> Self {
        let classic = i64::from(protection);
        let shares = [100 - classic, classic];
        let initial = i64::from(frame) * (shares[1] - shares[0]);
        Self { credit: initial, initial, shares }
    }

    /// The queue that is served next, of queues that have these numbers of packets; none of empty ones, which also forget the past.
    #[inline]
    pub fn next(&mut self, packets: [usize; 2]) -> Option<Class> {
        match packets {
            [0, 0] => {
                self.credit = self.initial;
                None
            }
            [0, _] => Some(Class::C),
            [_, 0] => Some(Class::L),
            _ if self.credit <= 0 => Some(Class::L),
            _ => Some(Class::C),
        }
    }

    /// A packet of `len` bytes was sent from a queue. The other queue had packets then.
    #[inline]
    pub fn charge(&mut self, class: Class, len: u32) {
        self.credit += match class {
            Class::L => self.shares[Class::C as usize],
            Class::C => -self.shares[Class::L as usize],
        } * i64::from(len);
    }

    /// The credit, bytes times per cent.
    pub fn credit(&self) -> i64 {
        self.credit
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Scheduler};

    #[test]
    fn shares_are_those_of_the_weights() {
        for protection in [0, 10, 25, 50, 90, 100] {
            let mut scheduler = Scheduler::new(protection, 1514);
            let mut sent = [0_u32; 2];
            for _ in 0..10_000 {
                let class = scheduler.next([5, 5]).unwrap();
                scheduler.charge(class, 1514);
                sent[class as usize] += 1;
            }
            assert!(sent[1].abs_diff(100 * protection) <= 100, "{protection}: {sent:?}");
        }
    }

    #[test]
    fn empty_queues_forget() {
        let mut scheduler = Scheduler::new(10, 1514);
        assert_eq!(scheduler.credit(), -121_120);
        scheduler.charge(Class::C, 1514);
        assert_eq!(scheduler.credit(), -121_120 - 90 * 1514);
        assert_eq!(scheduler.next([0, 1]), Some(Class::C));
        assert_eq!(scheduler.next([0, 0]), None);
        assert_eq!(scheduler.credit(), -121_120);
    }
}
