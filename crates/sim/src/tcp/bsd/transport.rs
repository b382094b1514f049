//! FreeBSD's TCP as a transport. It is not paced, knows nothing of its host's queue, and sends no FIN.

use super::receiver::Receiver;
use super::sender::Sender;
use crate::catalogue::Tell;
use crate::outbox::Outbox;
use crate::segment::Segment;
use crate::tcp::common::lazy_timer::Turn;
use crate::tcp::transport::{own, passed_on, ReceiverCounters, ReceivingEnd, SenderCounters, SenderSample, SendingEnd};
use crate::time::Time;

impl SendingEnd for Sender {
    type Body = Segment;

    passed_on! { own, SendingEnd;
        fn connect(&mut self, out: &mut impl Outbox);
        fn abort(&mut self);
        fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox);
        fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn>;
        fn fire(&mut self, place: u32, out: &mut impl Outbox);
        const
        fn sample(&self) -> SenderSample;
    }

    /// Everything below `end` is acknowledged.
    fn has_closed(&self, end: u32) -> bool {
        self.acked_until() >= end
    }
    fn counters(&self) -> &SenderCounters {
        &self.counters
    }
    fn state(&self, _now: Time, tell: &mut Tell) {
        self.tell(tell);
    }
}

impl ReceivingEnd for Receiver {
    type Body = Segment;

    passed_on! { own, ReceivingEnd;
        fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox);
        const
        fn counters(&self) -> &ReceiverCounters;
        fn window_scale(&self) -> u8;
        fn bytes_read(&self) -> u64;
        fn completed(&self) -> Option<Time>;
    }

    fn on_timer(&mut self, _which: usize, out: &mut impl Outbox) {
        self.on_timer(out);
    }
    /// The transfer is complete.
    fn has_closed(&self) -> bool {
        self.completed().is_some()
    }
}
