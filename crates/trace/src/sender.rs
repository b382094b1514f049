//! One end of a connection while packets are added. The order of the steps is that of tcptrace (trace.c of 6.6.7), since some of its counts
//! depend on it: a reset leaves windows and ACKs as they were; a packet's own ACK ends the other end's initial window before its payload counts.

use crate::direction::Direction;
use crate::ecn::Agreement;
use crate::limits::{Held, Limits, Situation};
use crate::moments::Histogram;
use crate::packet::{before, flags, Packet};
use crate::sent::{Added, Sample, Sent};
use crate::spurious::Retransmissions;
use crate::window::Windows;

/// Most bytes of options in a TCP header: a full segment has at least the maximum segment size less these.
const MOST_OPTIONS: u32 = 40;

/// Effect of a packet, for drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Number of its connection.
    pub connection: usize,
    /// The server sent it.
    pub reverse: bool,
    /// Its first sequence number, counted from the first that its sender used; None before that.
    pub start: Option<i64>,
    /// The number that it acknowledges, counted from the first that the other end used.
    pub ack: Option<i64>,
    /// The window that it advertises, bytes.
    pub window: u64,
    /// The sender's data in flight after it, bytes.
    pub flight: i64,
    /// The other end's.
    pub other_flight: i64,
    /// The RTT that it gives, of the other end's data, ns.
    pub rtt_ns: Option<i64>,
    /// Sequence numbers in it that were sent before.
    pub again: u32,
    /// It is out of order.
    pub out_of_order: bool,
    /// It probes a closed window.
    pub probe: bool,
    /// Its first SACK block reports data that were received twice.
    pub dsack: bool,
    /// Its first SACK block, which has the data that were received last (RFC 2018): its first number and the one after its last, counted as
    /// `ack`.
    pub sack: Option<(i64, i64)>,
}

/// One end while packets are added.
#[derive(Debug, Default)]
pub struct Sender {
    pub direction: Direction,
    pub rtts: Histogram,
    sent: Sent,
    /// The highest number that the other end acknowledged, unwrapped.
    una: i64,
    /// Number of the latest SYN.
    syn: Option<u32>,
    /// Acknowledgment number of the latest packet that is no reset.
    ack: Option<u32>,
    /// The other end sent a SYN since: the next ACK answers that, and is no duplicate.
    asked: bool,
    /// The other end acknowledged more than the SYN.
    answered: bool,
    /// A packet that is no SYN was sent in order: data can be out.
    flowing: bool,
    /// Payload of the last packet that brought something new.
    last_payload: u32,
    limits: Limits,
    /// Boxed: most connections send nothing again.
    resent: Option<Box<Retransmissions>>,
}

impl Sender {
    /// Return the causes that held it back.
    pub fn held(&self) -> Held {
        self.limits.held()
    }

    /// Takes in a packet that this end sent, before [`Sender::add`].
    fn count(&mut self, p: &Packet) {
        let d = &mut self.direction;
        d.kinds.syns += u64::from(p.has(flags::SYN));
        d.kinds.resets += u64::from(p.has(flags::RST));
        d.kinds.fins += u64::from(p.has(flags::FIN));
        let span = &mut d.span;
        if d.volume.packets == 0 {
            (span.first_ns, span.last_ns) = (p.time_ns, p.time_ns);
        } else {
            span.idle_max_ns = span.idle_max_ns.max(p.time_ns - span.previous_ns);
        }
        span.previous_ns = p.time_ns;
        (span.first_ns, span.last_ns) = (span.first_ns.min(p.time_ns), span.last_ns.max(p.time_ns));
        d.volume.packets += 1;
        d.windows.count();
        d.kinds.timestamps |= p.timestamps.is_some();
        if p.has(flags::SYN) {
            self.syn = Some(p.seq);
            d.kinds.mss = p.offer.mss.or(d.kinds.mss);
            d.kinds.sack_permitted |= p.offer.sack;
            d.windows.offered = p.offer.window_scale.or(d.windows.offered);
        }
        if p.payload == 0 {
            return;
        }
        if d.volume.data_packets == 0 {
            (span.first_data_ns, span.last_data_ns) = (p.time_ns, p.time_ns);
        }
        (span.first_data_ns, span.last_data_ns) = (span.first_data_ns.min(p.time_ns), span.last_data_ns.max(p.time_ns));
        let v = &mut d.volume;
        v.smallest = if v.data_packets == 0 { p.payload } else { v.smallest.min(p.payload) };
        v.largest = v.largest.max(p.payload);
        v.data_packets += 1;
        v.pushed_packets += u64::from(p.has(flags::PSH));
        v.urgent_packets += u64::from(p.has(flags::URG));
        v.bytes += u64::from(p.payload);
        v.cut_bytes += u64::from(p.cut);
        v.cut_packets += u64::from(p.cut > 0);
    }

    /// Take in the content of a packet of this end. `closed`: the other end's window is closed.
    fn carry(&mut self, p: &Packet, closed: bool, event: &mut Event) {
        let length = p.segment_len();
        if length > 0 {
            let d = &mut self.direction;
            if closed && !p.has(flags::SYN) {
                d.again_mut().probes += 1;
                d.again_mut().probe_bytes += u64::from(p.payload);
                event.probe = true;
                event.start = self.sent.unwrap(p.seq);
            } else {
                let begun = self.sent.begun();
                let top = self.sent.top();
                let added = self.sent.add(p.seq, length, p.time_ns);
                if !begun {
                    self.una = added.start;
                }
                event.start = Some(added.start);
                (event.again, event.out_of_order) = (added.again, added.out_of_order);
                self.added(p, &added, top);
            }
        }
        if let Some(start) = self.sent.unwrap(p.seq) {
            self.direction.stream.latest = start + i64::from(p.payload);
            if p.has(flags::SYN) {
                self.direction.stream.syn = Some(start);
            }
            if p.has(flags::FIN) {
                self.direction.stream.fin = Some(start + i64::from(p.payload));
            }
        }
    }

    fn added(&mut self, p: &Packet, added: &Added, top: i64) {
        let d = &mut self.direction;
        // SYN and FIN are in `again`. They are retransmissions only if their number was sent before.
        let marks = u32::from(p.has(flags::SYN) && d.kinds.syns > 1) + u32::from(p.has(flags::FIN) && d.kinds.fins > 1);
        d.volume.unique_bytes += u64::from(p.payload.saturating_sub(added.again.saturating_sub(marks)));
        if added.out_of_order {
            let again = d.again_mut();
            again.out_of_order += 1;
            again.late_bytes = again.late_bytes.max(top - added.start);
            again.late_ns = again.late_ns.max(added.late_ns);
        }
        if let Some((gap_ns, times)) = added.gap {
            let again = d.again_mut();
            again.gaps.add(gap_ns);
            again.most_times = again.most_times.max(times);
        }
        if added.again == 0 {
            self.last_payload = p.payload;
            return;
        }
        d.again_mut().packets += 1;
        d.again_mut().bytes += u64::from(added.again);
        if p.payload > 0 {
            let stamp = p.timestamps.map(|stamps| stamps.0);
            let end = added.start + i64::from(p.payload);
            let needless = self.resent.get_or_insert_default().sent(added.start, end, p.time_ns, stamp, self.una);
            self.direction.again_mut().spurious += u64::from(needless);
            if !needless {
                self.limits.loss(self.sent.top());
            }
        }
    }

    /// Take in the other end's ACK of this end's data. `pure`: it may be a duplicate.
    fn hear(&mut self, p: &Packet, pure: bool, event: &mut Event) {
        let Some(ack) = self.sent.unwrap(p.ack) else { return };
        event.ack = Some(ack);
        let found = self.sent.acknowledge(ack, p.time_ns);
        let answers = &mut self.direction.answers;
        answers.cumulative += u64::from(found.cumulative);
        let mut ambiguous_ns = None;
        match found.sample {
            Some(Sample::Rtt(rtt_ns, size)) if rtt_ns >= 0 => {
                answers.rtt.add(rtt_ns);
                self.rtts.add(rtt_ns);
                event.rtt_ns = Some(rtt_ns);
                // A FIN is no part of the size.
                let size = size.min(self.direction.volume.largest.max(1));
                if size > answers.full_size {
                    (answers.full, answers.full_size) = (Default::default(), size);
                }
                if size == answers.full_size {
                    answers.full.add(rtt_ns);
                }
                if self.syn.is_some_and(|syn| p.ack == syn.wrapping_add(1)) && self.direction.kinds.syns == 1 {
                    answers.syn_ns = Some(rtt_ns);
                }
            }
            Some(Sample::Ambiguous(since_ns)) if since_ns >= 0 => ambiguous_ns = Some(since_ns),
            Some(Sample::PostLoss) => answers.post_loss += 1,
            Some(_) => answers.negative += 1,
            None => {}
        }
        if found.repeats {
            if pure && self.flowing {
                answers.duplicates += 1;
                self.sent.repeated += 1;
                answers.triple += u64::from(self.sent.repeated == 4);
            } else {
                self.sent.repeated = 1;
            }
        }
        let least_ns = (answers.rtt.count > 0).then_some(answers.rtt.min_ns);
        if let Some(since_ns) = ambiguous_ns {
            self.direction.again_mut().answered.add(since_ns);
        }
        if ack > self.una {
            self.una = ack.min(self.sent.top());
        }
        if let Some(resent) = &mut self.resent {
            let echo = p.timestamps.map(|stamps| stamps.1);
            self.direction.again_mut().spurious += resent.acknowledged(ack, p.time_ns, echo, least_ns);
        }
    }

    /// Take in the SACK blocks of the other end. Return true if the first block reports data that were received twice: it lies below the
    /// ACK or in the second block.
    fn reports(&mut self, p: &Packet) -> bool {
        let blocks = p.sacks.blocks();
        let Some(&(start, end)) = blocks.first() else { return false };
        let inside = blocks.get(1).is_some_and(|&(from, to)| !before(start, from) && !before(to, end));
        if before(p.ack, end) && !inside {
            return false;
        }
        if let (Some(resent), Some(start), Some(end)) =
            (&mut self.resent, self.sent.unwrap(start), self.sent.unwrap(end))
        {
            self.direction.again_mut().spurious += u64::from(resent.reported(start, end));
        }
        true
    }

    /// The first SACK block of a packet of the other end.
    fn first_block(&self, p: &Packet) -> Option<(i64, i64)> {
        let &(start, end) = p.sacks.blocks().first()?;
        Some((self.sent.unwrap(start)?, self.sent.unwrap(end)?))
    }

    /// Takes in the windows of a packet of this end. Returns the window that it advertises.
    fn advertise(&mut self, p: &Packet, window: u64, scaling: bool) {
        self.direction.windows.add(p, window, scaling);
        let kinds = &mut self.direction.kinds;
        if p.has(flags::ACK) {
            self.ack = Some(p.ack);
            self.asked = false;
            kinds.pure_acks += u64::from(p.payload == 0 && !p.has(flags::SYN | flags::FIN | flags::RST));
        }
    }

    /// Record the flight after a packet of either end. `edge`: edge of the window that the other end advertises; `mss`: the other end's
    /// offer, from which options take a part.
    fn settle(&mut self, time_ns: i64, edge: Option<i64>, mss: Option<u16>) {
        let flight = self.sent.top() - self.una;
        let v = &self.direction.volume;
        if v.data_packets == 0 {
            return;
        }
        let begun = self.direction.outstanding.max > 0;
        self.direction.outstanding.set(time_ns, flight, begun);
        let closed = self.direction.stream.fin.is_some_and(|fin| self.una > fin) || self.direction.kinds.resets > 0;
        // With segmentation offload the largest packet is many segments.
        let segment = mss.map_or(v.largest, |mss| u32::from(mss).saturating_sub(MOST_OPTIONS)).max(1);
        let situation = Situation {
            flight,
            room: edge.map(|edge| edge - self.sent.top()),
            segment: i64::from(segment),
            una: self.una,
            top: self.sent.top(),
            short: self.last_payload < segment,
            closed,
        };
        self.limits.step(time_ns, &situation);
    }
}

/// Takes in a packet that `own` sent to `other`.
pub fn exchange(own: &mut Sender, other: &mut Sender, agreement: &mut Agreement, p: &Packet) -> Event {
    let mut event = Event::default();
    own.count(p);
    let window = own.direction.windows.of(p, &other.direction.windows);
    let offers = |windows: &Windows| windows.offered.is_some();
    let scaling = offers(&own.direction.windows) && offers(&other.direction.windows);
    event.window = window;
    mark(own, other, agreement, p);
    let closed = other.direction.windows.latest == 0 && other.direction.volume.packets > 0;
    own.carry(p, closed, &mut event);
    other.asked |= p.has(flags::SYN);
    let repeated = own.ack == Some(p.ack) && !own.asked;
    let pure = p.payload == 0 && repeated && window == own.direction.windows.latest;
    if p.has(flags::ACK) {
        own.direction.kinds.acks += 1;
        other.hear(p, pure, &mut event);
    }
    if p.has(flags::RST) {
        return event;
    }
    own.advertise(p, window, scaling);
    let blocks = p.sacks.blocks().len() as u64;
    if blocks > 0 {
        own.direction.kinds.sacks += 1;
        own.direction.kinds.most_blocks = own.direction.kinds.most_blocks.max(blocks);
        event.dsack = other.reports(p);
        event.sack = other.first_block(p);
        own.direction.kinds.dsacks += u64::from(event.dsack);
    }
    if p.has(flags::ACK) && other.syn.is_none_or(|syn| p.ack != syn.wrapping_add(1)) {
        other.answered = true;
    }
    if p.payload > 0 && !own.answered && event.again == 0 {
        own.direction.volume.initial_bytes += u64::from(p.payload);
        own.direction.volume.initial_packets += 1;
    }
    own.flowing |= !p.has(flags::SYN) && !event.out_of_order && event.again == 0;
    // Without both SYNs the scale of a window is not known.
    let known = own.direction.kinds.syns > 0 && other.direction.kinds.syns > 0;
    let edge = |of: &Sender, by: &Sender| {
        let ack = by.ack.and_then(|ack| of.sent.unwrap(ack))?;
        known.then(|| ack + by.direction.windows.latest as i64)
    };
    let (own_edge, other_edge) = (edge(own, other), edge(other, own));
    let (own_mss, other_mss) = (own.direction.kinds.mss, other.direction.kinds.mss);
    own.settle(p.time_ns, own_edge, other_mss);
    other.settle(p.time_ns, other_edge, own_mss);
    (event.flight, event.other_flight) = (own.sent.top() - own.una, other.sent.top() - other.una);
    event
}

/// Takes in the marks of a packet and its echoes of others.
fn mark(own: &mut Sender, other: &mut Sender, agreement: &mut Agreement, p: &Packet) {
    if p.has(flags::SYN) {
        agreement.syn(p);
    }
    let answers_syn = other.syn.is_some_and(|syn| p.ack == syn.wrapping_add(1));
    let handshake = answers_syn && own.direction.kinds.syns > 0 && own.direction.volume.packets == 2 && p.payload == 0;
    let stale = p.has(flags::ACK) && own.ack.is_some_and(|latest| before(p.ack, latest));
    if p.ecn == 0 && !p.has(flags::NS | flags::CWR | flags::ECE) && *agreement != Agreement::Accurate {
        return;
    }
    let earlier = own.direction.ecn();
    own.direction.ecn_mut().add(p, *agreement, handshake, stale);
    let now = own.direction.ecn();
    if now.ece > earlier.ece || now.ae > earlier.ae || now.ace > earlier.ace {
        other.limits.mark();
    }
}
