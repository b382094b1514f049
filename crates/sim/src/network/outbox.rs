//! The network as the ends of flows act on it.

use super::Network;
use crate::attachment::Attachment;
use crate::outbox::{End, Outbox};
use crate::packet::{Packet, Verdict};
use crate::time::Time;

impl Outbox for Network {
    #[inline]
    fn now(&self) -> Time {
        self.shared.now
    }

    #[inline(always)]
    fn send(&mut self, from: End, p: impl Into<Packet>) -> Verdict {
        let p = p.into();
        // The callers know which end they are: this is decided when they are compiled, without a look at the flags that they just wrote.
        let (flow, direction) = (p.flow(), from.direction());
        let verdict = self.set_out(p, self.routes.first(flow, direction));
        if verdict == Verdict::Queued || self.routes.has_egress(flow, direction) {
            verdict
        } else {
            Verdict::Queued
        }
    }

    fn send_at(&mut self, from: End, p: impl Into<Packet>, departure: Time) -> Verdict {
        self.send_paced(from, p.into(), departure)
    }

    #[inline(always)]
    fn set_timer(&mut self, source: usize, at: Time) {
        self.events.set_other(source, at);
    }

    #[inline(always)]
    fn clear_timer(&mut self, source: usize) {
        self.events.clear_other(source);
    }

    fn attach(&mut self, attachment: Attachment) -> u32 {
        self.shared.attachments.put(attachment)
    }

    fn take_attachment(&mut self, slot: u32) -> Attachment {
        self.shared.attachments.take(slot)
    }

    #[inline]
    fn is_last_now(&self) -> bool {
        self.is_last_of_burst()
    }

    fn act_last(&mut self, flow: usize, end: End) {
        self.add_application(flow, end);
    }
}
