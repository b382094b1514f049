//! Outboxes of the halves of an end that both sends and receives: the one behind whose packets the other's ACK rides, and the other way round.

use crate::attachment::{Attachment, Blocks};
use crate::outbox::{End, Outbox};
use crate::packet::{Direction, Packet, Verdict, HEADERS, NO_ATTACHMENT};
use crate::segment::{flags, Segment};
use crate::tcp::linux::receiver::Receiver;
use crate::tcp::linux::sender::Sender;
use crate::time::Time;

use super::Counters;

/// Which end of the first direction this end is: packets of the first leave along the route of its data, others along that of its ACKs.
fn route(first: bool) -> End {
    if first {
        End::Sender
    } else {
        End::Receiver
    }
}

/// Outbox of the sending half: each packet takes the ACK along.
pub(super) struct SenderOutbox<'a, O> {
    pub first: bool,
    pub receiver: &'a mut Receiver,
    pub counters: &'a mut Counters,
    /// Blocks of the packet in hand.
    pub blocks: Blocks,
    pub out: &'a mut O,
}

impl<O: Outbox> Outbox for SenderOutbox<'_, O> {
    fn now(&self) -> Time {
        self.out.now()
    }

    fn send(&mut self, _: End, p: impl Into<Packet>) -> Verdict {
        let mut p = Segment::from(p.into());
        let (ack, blocks);
        if p.has(flags::SYN) {
            p.window = self.receiver.offered();
            // The SYN-ACK of an end whose SYN was crossed.
            (ack, blocks) = (u32::from(p.has(flags::HANDSHAKE)), Blocks::default());
        } else {
            let said = self.receiver.ride(u32::from(p.len) > HEADERS, self.out);
            let base = self.receiver.base();
            ack = said.ack.wrapping_add(base);
            (p.window, p.tsecr) = (said.window, said.tsecr);
            p.flags |= said.flags;
            blocks = said.blocks.moved_by(base);
            p.len += blocks.option_bytes() as u16;
        }
        let mut seq = ack;
        if !self.first {
            (p.seq, seq) = (ack, p.seq);
            p.set_direction(Direction::Reverse);
        }
        p.attachment = self.out.attach(Attachment::Second { seq, blocks });
        self.counters.sent += 1;
        self.out.send(route(self.first), p)
    }

    fn set_timer(&mut self, source: usize, at: Time) {
        self.out.set_timer(source, at);
    }

    fn attach(&mut self, attachment: Attachment) -> u32 {
        self.out.attach(attachment)
    }

    /// False, because the application reads and writes when the packet has been dealt with, its ACK included.
    fn is_last_now(&self) -> bool {
        false
    }

    fn option_bytes(&self) -> u32 {
        self.receiver.option_bytes()
    }

    fn take_attachment(&mut self, _: u32) -> Attachment {
        std::mem::take(&mut self.blocks).into()
    }
}

/// Outbox of the receiving half: each packet has the number of the next segment to send.
pub(super) struct ReceiverOutbox<'a, O> {
    pub first: bool,
    pub sender: &'a mut Sender,
    pub seq: u32,
    /// Value of [`Receiver::base`].
    pub base: u32,
    /// The time that the end has seen last when it looked at the clock.
    pub clock: Time,
    pub counters: &'a mut Counters,
    /// Blocks of the ACK about to be sent.
    pub blocks: Blocks,
    pub out: &'a mut O,
}

impl<O: Outbox> Outbox for ReceiverOutbox<'_, O> {
    fn now(&self) -> Time {
        self.out.now()
    }

    fn send(&mut self, _: End, p: impl Into<Packet>) -> Verdict {
        let mut p = Segment::from(p.into());
        p.seq = p.seq.wrapping_add(self.base);
        if p.tsval > 0 {
            // An RST without a socket has no timestamps.
            p.tsval = p.tsval.max(self.sender.depart_bare(self.clock));
        }
        let mut seq = if p.has(flags::SYN) { 0 } else { self.seq };
        if self.first {
            (p.seq, seq) = (seq, p.seq);
            p.set_direction(Direction::Forward);
        }
        p.attachment = self.out.attach(Attachment::Second { seq, blocks: std::mem::take(&mut self.blocks) });
        self.counters.sent += 1;
        self.out.send(route(self.first), p)
    }

    fn set_timer(&mut self, source: usize, at: Time) {
        self.out.set_timer(source, at);
    }

    /// The blocks go with the packet when it is sent.
    fn attach(&mut self, attachment: Attachment) -> u32 {
        self.blocks = attachment.blocks().moved_by(self.base);
        NO_ATTACHMENT
    }

    fn take_attachment(&mut self, slot: u32) -> Attachment {
        self.out.take_attachment(slot)
    }
}
