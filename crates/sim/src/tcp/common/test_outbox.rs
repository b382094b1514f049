//! Packets of the endpoints' tests, put into and taken out of the outbox of an end alone.

use crate::attachment::Blocks;
use crate::outbox::{LoneOutbox, Outbox};
use crate::packet::{Direction, Way, ACK_FRAME, MSS, NO_ATTACHMENT};
use crate::segment::Segment;

impl LoneOutbox {
    /// A receiver's packet with this ACK number, SACK blocks and timestamp echo; `flags` beside ACK. Its window is 1000 segments.
    pub(in crate::tcp) fn ack_packet(&mut self, ack: u32, blocks: &[(u32, u32)], tsecr: u32, flags: u16) -> Segment {
        let mut p = Segment {
            way: Way::new(0),
            len: ACK_FRAME as u16,
            seq: ack,
            window: 1000 * MSS,
            tsval: 0,
            tsecr,
            attachment: NO_ATTACHMENT,
            flags: flags | Direction::Reverse.flags(),
        };
        if !blocks.is_empty() {
            let mut list = Blocks::default();
            blocks.iter().for_each(|&b| list.push(b));
            p.attachment = self.attach(list.into());
        }
        p
    }

    /// The SACK blocks of a packet under way.
    pub(in crate::tcp) fn blocks(&self, p: &Segment) -> Blocks {
        *self.attachments.get(p.attachment).blocks()
    }
}
