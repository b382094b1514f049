//! Unresponsive datagrams at a constant rate: one every interval, whatever becomes of them. Not ECN-capable.

use crate::outbox::{End, Outbox};
use crate::packet::{Packet, Way, FULL_FRAME, NO_ATTACHMENT};
use crate::refusal::Flaws;
use crate::spec::{ConnectionSpec, UdpSpec};
use crate::time::{Time, NEVER};

/// Least frame, bytes.
const LEAST_FRAME: u32 = 64;

/// A stream, both ends.
#[derive(Debug)]
pub struct Udp {
    /// Name in the results.
    pub name: String,
    /// Index among all flows.
    flow: u32,
    /// Event source.
    source: usize,
    len: u32,
    interval: Time,
    /// Time of the first datagram.
    pub start: Time,
    /// No datagram is sent from this time on.
    pub stop: Time,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub arrived: u64,
}

impl Udp {
    /// A stream that has not begun, in a run that goes on to `end`.
    ///
    /// # Errors
    /// An interval or a size that cannot be.
    pub fn build(spec: &UdpSpec, stream: &ConnectionSpec, end: Time, flow: u32, source: usize) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        flaws.at_least("interval_ns", spec.interval_ns, "ns", 1);
        flaws.range("size_bytes", spec.size_bytes, "bytes", LEAST_FRAME..=FULL_FRAME);
        flaws.done()?;
        Ok(Self {
            name: stream.name.clone(),
            flow,
            source,
            len: spec.size_bytes,
            interval: spec.interval_ns,
            start: stream.start_ns,
            stop: stream.stop_ns.unwrap_or(end),
            sent: 0,
            arrived: 0,
        })
    }

    /// Sets the time of the next datagram.
    pub fn schedule(&self, at: Time, out: &mut impl Outbox) {
        out.set_timer(self.source, if at < self.stop { at } else { NEVER });
    }

    /// A datagram is due.
    pub fn on_timer(&mut self, out: &mut impl Outbox) {
        self.sent += 1;
        self.schedule(out.now().saturating_add(self.interval), out);
        out.send(
            End::Sender,
            Packet {
                way: Way::new(self.flow),
                len: self.len as u16,
                seq: 0,
                window: 0,
                tsval: 0,
                tsecr: 0,
                attachment: NO_ATTACHMENT,
                flags: 0,
            },
        );
    }
}
