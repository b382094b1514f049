//! The TCP connections of a capture, packet by packet. The state of a connection has a fixed size, except for the segments that wait for an
//! ACK, the holes of the capture, and a bucket for each 1/128 of RTT that occurred.

use crate::connection::Connections;
use crate::direction::Direction;
use crate::ecn::Agreement;
use crate::limits::Held;
use crate::moments::Histogram;
use crate::packet::{Endpoint, Packet};
use crate::sender::{exchange, Event, Sender};

/// A TCP connection and its two directions.
#[derive(Clone, Debug)]
pub struct Connection<'a> {
    /// The end that sent the SYN; without a SYN in the capture, the end that sent the first packet.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// From the client to the server.
    pub forward: Direction,
    /// From the server to the client.
    pub reverse: Direction,
    /// Causes that held back the client's data, and the server's.
    pub held: [Held; 2],
    /// RTTs of the client's data, of the server's.
    pub rtts: [&'a Histogram; 2],
    /// The ends agreed on AccECN.
    pub accurate_ecn: bool,
}

impl Connection<'_> {
    /// Earliest and latest time of a packet, ns.
    #[must_use]
    pub fn span_ns(&self) -> (i64, i64) {
        let sent = [&self.forward, &self.reverse].into_iter().filter(|d| d.volume.packets > 0);
        let spans = sent.map(|d| (d.span.first_ns, d.span.last_ns));
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default()
    }

    /// Both ends sent a FIN, or one a reset.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let (client, server) = (&self.forward.kinds, &self.reverse.kinds);
        client.fins > 0 && server.fins > 0 || client.resets + server.resets > 0
    }
}

/// A connection while packets are added.
#[derive(Debug, Default)]
struct Open {
    client: Sender,
    server: Sender,
    agreement: Agreement,
}

/// The TCP connections of a capture, from its packets in the order of the file.
#[derive(Debug, Default)]
pub struct Analysis {
    connections: Connections,
    /// Boxed, so that a growing list moves none of them.
    #[expect(clippy::vec_box, reason = "they are large, and a list that doubles would hold all of them twice")]
    open: Vec<Box<Open>>,
    /// Time of the last packet.
    latest_ns: Option<i64>,
}

impl Analysis {
    /// Takes in the next packet.
    pub fn add(&mut self, p: &Packet) -> Event {
        let (i, from_client) = self.connections.find(p);
        if i == self.open.len() {
            self.open.push(Box::default());
        }
        self.latest_ns = Some(p.time_ns);
        let Open { client, server, agreement } = &mut *self.open[i];
        let event =
            if from_client { exchange(client, server, agreement, p) } else { exchange(server, client, agreement, p) };
        Event { connection: i, reverse: !from_client, ..event }
    }

    /// Take in the time of the capture's last packet of any kind.
    pub fn end(&mut self, time_ns: i64) {
        self.latest_ns = Some(time_ns);
    }

    /// Number of connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// True if there is no connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// ACKs whose time is before that of their segment: they give no RTT.
    #[must_use]
    pub fn negative_rtts(&self) -> u64 {
        let both = self.open.iter().flat_map(|open| [&open.client, &open.server]);
        both.map(|sender| sender.direction.answers.negative).sum()
    }

    /// Connection `i`, in order of the first packets; panics from [`Analysis::len`] on. The end of the capture ends the idle time of
    /// connections that are open.
    #[must_use]
    pub fn connection(&self, i: usize) -> Connection<'_> {
        let (ends, open) = (&self.connections.ends[i], &self.open[i]);
        let mut found = Connection {
            client: ends.client,
            server: ends.server,
            forward: open.client.direction.clone(),
            reverse: open.server.direction.clone(),
            held: [open.client.held(), open.server.held()],
            rtts: [&open.client.rtts, &open.server.rtts],
            accurate_ecn: open.agreement == Agreement::Accurate,
        };
        if let (false, Some(end_ns)) = (found.is_closed(), self.latest_ns) {
            for direction in [&mut found.forward, &mut found.reverse].into_iter().filter(|d| d.volume.packets > 0) {
                let span = &mut direction.span;
                span.idle_max_ns = span.idle_max_ns.max(end_ns - span.previous_ns);
            }
        }
        found
    }
}
