//! FreeBSD's TCP as a transport. It is not paced, knows nothing of its host's queue, and sends no FIN.

use super::receiver::Receiver;
use super::sender::Sender;
use crate::catalogue::Tell;
use crate::outbox::Outbox;
use crate::segment::Segment;
use crate::tcp::common::lazy_timer::Turn;
use crate::tcp::transport::{ReceiverCounters, ReceivingEnd, SenderCounters, SenderSample, SendingEnd};
use crate::time::Time;

impl SendingEnd for Sender {
    type Body = Segment;

    fn connect(&mut self, out: &mut impl Outbox) {
        self.connect(out);
    }
    fn abort(&mut self) {
        self.abort();
    }
    fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.on_ack(p, out);
    }
    fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn> {
        self.turn(out)
    }
    fn fire(&mut self, place: u32, out: &mut impl Outbox) {
        self.fire(place, out);
    }
    /// Everything below `end` is acknowledged.
    fn has_closed(&self, end: u32) -> bool {
        self.acked_until() >= end
    }
    fn counters(&self) -> &SenderCounters {
        &self.counters
    }
    fn sample(&self) -> SenderSample {
        self.sample()
    }
    fn state(&self, tell: &mut Tell) {
        self.tell(tell);
    }
}

impl ReceivingEnd for Receiver {
    type Body = Segment;

    fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.on_packet(p, out);
    }
    fn on_timer(&mut self, _which: usize, out: &mut impl Outbox) {
        self.on_timer(out);
    }
    /// The transfer is complete.
    fn has_closed(&self) -> bool {
        self.completed().is_some()
    }
    fn counters(&self) -> &ReceiverCounters {
        self.counters()
    }
    fn window_scale(&self) -> u8 {
        self.window_scale()
    }
    fn bytes_read(&self) -> u64 {
        self.bytes_read()
    }
    fn completed(&self) -> Option<Time> {
        self.completed()
    }
}
