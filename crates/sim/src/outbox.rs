//! What the end of a flow acts through.

use crate::attachment::Attachment;
use crate::packet::{Packet, Verdict};
use crate::time::Time;

/// The end of a flow that a packet comes from. The sender's packets go along the route of the data, the receiver's along that of the ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It sends the data.
    Sender,
    /// It acknowledges them.
    Receiver,
}

/// The queue that the host of an end has of its own, which everything sent passes first, as its TCP feels it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostQueue {
    /// There is none.
    #[default]
    None,
    /// What it takes is on the account of its connection until it leaves.
    Charges,
    /// It takes packets off that account when they come, but TCP sees which of them are there.
    Orphans,
}

/// What the end of a flow acts through: it reads the time, sends packets and sets its timers, and knows nothing of what lies behind. In a
/// run that is the network; the endpoints' tests have a small one of their own. It is a type parameter, not an object: every call is
/// resolved at compile time.
pub trait Outbox {
    /// The current time.
    fn now(&self) -> Time;

    /// Puts a packet of the end `from` on its way. The verdict is that of the first port, before anything else happens, if that port
    /// belongs to the sending host: a drop there is a transmission that failed. What another host's port does is not told: `Queued`.
    fn send(&mut self, from: End, p: Packet) -> Verdict;

    /// As [`Self::send`]; a queue on the host that looks at the time holds the packet until `departure`.
    fn send_at(&mut self, from: End, p: Packet, _departure: Time) -> Verdict {
        self.send(from, p)
    }

    /// Sets the event of a timer of the end, or moves it; `NEVER` takes it away.
    fn set_timer(&mut self, source: usize, at: Time);

    /// Attaches something to a packet that is about to be sent.
    fn attach(&mut self, p: &mut Packet, attachment: Attachment);

    /// True if no other packet reaches this end of the flow at this time after the one in hand. An application acts once all packets of an
    /// instant have been dealt with, as no process of Linux runs before the softirq is over: if this is true, at once.
    fn is_last_now(&self) -> bool {
        true
    }

    /// Lets the application at one end of a flow act once nothing else happens at this time.
    fn act_last(&mut self, _flow: usize, _end: End) {}

    /// Takes what is attached to a packet that has arrived; nothing is an attachment without blocks.
    fn take_attachment(&mut self, p: &Packet) -> Attachment;
}
