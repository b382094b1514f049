//! An end of a connection that both sends and receives: a sending half and a receiving half behind one header. The halves are those of one-way
//! connections and do not know of each other: what one of them sends takes along what the other has to say, and a packet that arrives is
//! taken apart for both.
//!
//! Order on arrival (Linux 6.12 net/ipv4/tcp_input.c `tcp_rcv_established`): the ACK is processed (`tcp_ack`), data are queued
//! (`tcp_data_queue`), what the window then allows is sent (`tcp_data_snd_check`), and only if nothing took the ACK along one is sent or
//! delayed (`__tcp_ack_snd_check`). Then the application reads, and may write. Where header prediction takes the packet, data are queued before
//! the ACK is processed.
//!
//! Leaves out: giving up, TSO.

mod crossed;
mod gone;
mod outboxes;

use self::gone::Ending;
use self::outboxes::{ReceiverOutbox, SenderOutbox};
use crate::attachment::{Attachment, Blocks};
use crate::cc::{AnyCc, Needs};
use crate::outbox::{HostQueue, Outbox};
use crate::packet::{Direction, HEADERS, NO_ATTACHMENT};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::linux::receiver::{self, Receiver};
use crate::tcp::linux::sender::{self, Beside, Sender};
use crate::tcp::linux::stack::Stack;

/// Event sources of an end: those of the sending half, those of the receiving half.
pub const SOURCES: usize = sender::SOURCES + receiver::SOURCES;
const SENDER: usize = 0;
const DEPARTURE: usize = 1;
const RECEIVER: usize = sender::SOURCES;

/// Packets that an end has sent and taken in, all kinds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Sent.
    pub sent: u64,
    /// Arrived.
    pub arrived: u64,
}

/// An end.
#[derive(Debug)]
pub struct TwoWayEnd {
    source: usize,
    /// The direction of what it sends: the first (from -> to), whose numbers stand in the packets, or the second.
    first: bool,
    opens: bool,
    sender: Sender,
    receiver: Receiver,
    /// The number of the packet that changed the peer's window last (`snd_wl1`).
    window_by: u32,
    /// Header prediction is on (`pred_flags`). At the end that opens it is not before the first data or the first change of the window
    /// (`tcp_finish_connect`).
    predicts: bool,
    ending: Ending,
    /// The application reads no more.
    stops_reading: bool,
    counters: Counters,
}

impl TwoWayEnd {
    /// A closed end; it `opens` the connection, or is called. `source` is the first of its [`SOURCES`].
    #[must_use]
    #[allow(clippy::too_many_arguments, reason = "what both halves are made of")]
    pub fn new(
        flow: u32,
        source: usize,
        spec: &TcpSpec,
        stack: &Stack,
        cc: AnyCc,
        needs: Needs,
        first: bool,
        opens: bool,
    ) -> Self {
        let ending = Ending::new(stack);
        let receiver = Receiver::new(flow, source + RECEIVER, spec, stack, &needs).streaming();
        Self {
            source,
            first,
            opens,
            sender: Sender::new(flow, source + SENDER, spec, stack.clone(), cc, needs).streaming(),
            receiver: if opens { receiver.opening() } else { receiver },
            window_by: 0,
            predicts: !opens,
            ending,
            stops_reading: false,
            counters: Counters::default(),
        }
    }

    /// With a random stream of its own.
    #[must_use]
    pub fn seeded(mut self, seed: [u64; 2]) -> Self {
        self.sender = self.sender.seeded(seed);
        self
    }

    /// Calls [`Receiver::of_unfragmented`].
    #[must_use]
    pub fn of_unfragmented(mut self, tailroom: u32) -> Self {
        self.receiver = self.receiver.of_unfragmented(tailroom);
        self
    }

    /// connect(): sends the SYN.
    pub fn open(&mut self, out: &mut impl Outbox) {
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.connect(&mut out);
    }

    /// Nothing more is sent.
    pub fn abort(&mut self, out: &mut impl Outbox) {
        self.sender.abort();
        self.stop_timers(out);
    }

    /// Which queue the host has of its own. Said before the connection opens.
    pub fn on_host_with_queue(&mut self, kind: HostQueue) {
        self.sender.on_host_with_queue(kind);
    }

    /// A packet of this end has left the host's own queue; true if the sending half waited for that.
    pub fn on_left_host(&mut self, p: &Segment, attachment: &Attachment) -> bool {
        if p.has(flags::RST) {
            return false;
        }
        let number = if self.first { p.seq } else { attachment.second() };
        // A probe of the window has the number before a segment.
        let (seq, _) = self.sender.segment_of(number);
        // The blocks of an ACK are no payload.
        let len = p.len - attachment.blocks().option_bytes() as u16;
        self.sender.on_left_host(&Segment { seq, len, ..*p })
    }

    /// There is room in the host's own queue, and the sending half waited for it.
    pub fn on_room_in_host(&mut self, out: &mut impl Outbox) {
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.on_room_in_host(&mut out);
        sender.on_application(&mut out);
    }

    /// The application can write.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.sender.is_established()
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64, out: &mut impl Outbox) {
        if self.sender.has_written_all() {
            self.receiver.look(out.now());
        }
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.append(bytes, &mut out);
    }

    /// The application closes, having written all.
    pub fn close(&mut self, out: &mut impl Outbox) {
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.refresh(out.now());
        sender.in_process(|sender| sender.close(&mut out));
        self.receiver.note_own_fin();
    }

    /// The application reads nothing from now on.
    pub fn stop_reading(&mut self) {
        self.stops_reading = true;
    }

    /// The application has read to the end of what the peer sent, and has not closed yet.
    #[must_use]
    pub fn is_to_close(&self) -> bool {
        self.receiver.has_ended() && !self.stops_reading && !self.sender.close.is_requested()
    }

    /// Counters of the packets.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Shift of the windows that it advertises.
    #[must_use]
    pub fn window_scale(&self) -> u8 {
        self.receiver.window_scale()
    }

    /// The sending half.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receiving half.
    #[must_use]
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The event of timer `which` came.
    pub fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        match which {
            SENDER => {
                let now = out.now();
                let turn = self.sender.turn(out);
                if turn.is_some_and(|turn| self.receiver.acknowledges_before(turn, out)) {
                    self.on_timer(RECEIVER, out);
                }
                let (sender, mut out) = self.sending(out, Blocks::default());
                sender.on_timer(&mut out);
                let has_looked = sender.has_looked(now);
                sender.let_device_take(&mut out);
                sender.on_application(&mut out);
                if has_looked {
                    self.receiver.look(now);
                }
            }
            DEPARTURE => {
                let now = out.now();
                let (sender, mut sending) = self.sending(out, Blocks::default());
                sender.on_departure_timer(&mut sending);
                sender.let_device_take(&mut sending);
                sender.on_application(&mut sending);
                self.receiver.look(now);
                let (receiver, mut out) = self.acknowledging(out);
                receiver.on_pacing_timer(&mut out);
            }
            _ => {
                let (receiver, mut out) = self.acknowledging(out);
                out.clock = receiver.clock_at(which - RECEIVER, out.clock);
                receiver.on_timer(which - RECEIVER, &mut out);
            }
        }
    }

    /// A packet of the peer arrives. Returns the bytes that the application has read so far.
    pub fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox) -> u64 {
        self.counters.arrived += 1;
        if self.sender.departs_before_ack(out.now()) {
            self.on_timer(DEPARTURE, out);
        }
        let attachment = out.take_attachment(p.attachment);
        let (blocks, second) = (attachment.blocks(), attachment.second());
        let (ack, number) = if self.first { (p.seq, second) } else { (second, p.seq) };
        if self.ending.has_come() {
            let p = &Segment { len: p.len - blocks.option_bytes() as u16, ..*p };
            self.answer_when_gone(p, self.receiver.number(number), ack, out);
            return self.receiver.bytes_read();
        }
        if p.has(flags::RST) {
            self.on_reset(self.receiver.number(number), out);
            return self.receiver.bytes_read();
        }
        let of_syn_ack;
        let (is_syn_ack, p) = if p.has(flags::SYN) {
            let Some(rest) = self.on_syn(p, ack, out) else { return 0 };
            of_syn_ack = rest;
            (true, &of_syn_ack)
        } else {
            (false, p)
        };
        let p = &Segment { len: p.len - blocks.option_bytes() as u16, ..*p };
        let seq = self.receiver.number(number);
        let (wire_ack, (ack, _)) = (ack, self.sender.segment_of(ack));
        let ack = Segment {
            seq: ack,
            attachment: NO_ATTACHMENT,
            flags: p.flags & flags::ECE | Direction::Reverse.flags(),
            ..*p
        };
        let accepts = !self.receiver.is_established();
        if accepts {
            let is_accepted =
                if self.opens { self.end_crossing(&ack, p, seq, is_syn_ack, out) } else { self.accept(&ack, p, out) };
            if !is_accepted {
                return 0;
            }
        }
        if !self.sender.is_established() {
            return 0;
        }
        self.receiver.look(out.now());
        let has_data = u32::from(p.len) > HEADERS || p.has(flags::FIN);
        let end = seq + u32::from(p.len) - HEADERS + u32::from(p.has(flags::FIN));
        let ahead = number.wrapping_sub(self.window_by) as i32;
        if self.is_to_drop(&ack, seq, end, ahead) {
            if end > seq || !self.receiver.is_late(&ack) || !self.receiver.ignores_late(seq) {
                self.answer_dropped(seq, end, out);
            }
            return self.receiver.bytes_read();
        }
        let is_predicted = !accepts && self.is_predicted(p, seq, &ack, blocks.count > 0);
        self.predicts |= accepts || !self.sender.is_window(ack.window);
        // Data that are what was expected say nothing by an ACK that says nothing new, and let nothing be sent.
        let is_only_data = is_predicted && has_data && ack.seq == self.sender.view.snd_una;
        if accepts || !self.is_open() {
            // Only `tcp_rcv_established` takes samples of the RTT by the echo.
            self.receiver.note_timestamp(seq, p);
        } else {
            self.receiver.take_timestamps_of_stream(seq, p, has_data, out.now());
        }
        let (expected, data) = (self.receiver.rcv_nxt, Segment { seq, ..*p });
        // Predicted data are queued before their ACK is looked at, others after it.
        if is_predicted && has_data {
            self.take_data(&data, true, out);
        }
        let (newer, older) = (ahead > 0, ahead < 0);
        // Header prediction notes the number of data even if it is lower than that (`tcp_update_wl`).
        if newer && ack.seq >= self.sender.view.snd_una || ack.seq > self.sender.view.snd_una || is_only_data {
            self.window_by = number;
        }
        if p.has(flags::CWR) && ack.seq >= self.sender.view.snd_una {
            // An ACK that others have overtaken says nothing, not even by its CWR (`tcp_ack`).
            self.receiver.take_cwr(has_data);
        }
        // `tcp_ack` of the packet that ends the handshake has no effect: congestion control begins behind it (`tcp_init_transfer`).
        if !is_only_data && !accepts {
            let advances = self.sender.note_acked(wire_ack);
            let segments = self.sender.segments_of(blocks);
            let (sender, mut out) = self.sending(out, segments);
            sender.take_ack(&ack, Beside { data: has_data, newer, older, advances }, &mut out);
        }
        let ended = self.receiver.has_ended();
        if self.ending.is_orphan && !ended && self.ends_orphan(p, end - u32::from(p.has(flags::FIN)), wire_ack, out) {
            return self.receiver.bytes_read();
        }
        if !is_predicted && has_data && !self.is_done() {
            self.take_data(&data, false, out);
            self.predicts |= self.receiver.rcv_nxt != expected;
        }
        if self.is_done() {
            self.finish(out);
            return self.receiver.bytes_read();
        }
        if !is_only_data {
            let (sender, mut out) = self.sending(out, Blocks::default());
            sender.send_allowed(&mut out);
        }
        self.receiver.take_estimates(self.sender.estimates());
        let reads = !self.stops_reading;
        let (receiver, mut acknowledging) = self.acknowledging(out);
        if has_data || !is_predicted {
            receiver.check_ack_of_stream(&mut acknowledging);
        }
        let (sender, mut sending) = self.sending(out, Blocks::default());
        sender.let_device_take(&mut sending);
        if reads && self.receiver.rcv_nxt != expected {
            let (receiver, mut acknowledging) = self.acknowledging(out);
            receiver.read(u32::from(p.len) > HEADERS, &mut acknowledging);
        }
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.on_application(&mut out);
        self.receiver.bytes_read()
    }

    /// Puts the data of a packet, or its FIN, into the receive queue.
    fn take_data(&mut self, p: &Segment, is_predicted: bool, out: &mut impl Outbox) {
        let not_of_data = Direction::Reverse.flags() | flags::ECE | flags::CWR;
        let data = Segment { attachment: NO_ATTACHMENT, flags: p.flags & !not_of_data, ..*p };
        self.receiver.take_estimates(self.sender.estimates());
        let had_ended = self.receiver.has_ended();
        let (receiver, mut out) = self.acknowledging(out);
        receiver.take_data(&data, is_predicted, &mut out);
        if receiver.has_ended() && !had_ended {
            self.sender.note_fin_of_peer();
            self.ending.closed_first = self.sender.close.is_requested();
        }
    }

    /// Neither end has closed (TCP_ESTABLISHED).
    fn is_open(&self) -> bool {
        !self.receiver.has_ended() && !self.sender.close.is_requested()
    }

    /// The packet is what was expected, but for an ACK: the next in order, with the window of the one before (header prediction, for which
    /// neither end has closed, and for which there is memory).
    fn is_predicted(&self, p: &Segment, seq: u32, ack: &Segment, has_blocks: bool) -> bool {
        self.predicts
            && self.is_open()
            && seq == self.receiver.rcv_nxt
            && ack.seq >= self.sender.view.snd_una
            && !has_blocks
            && p.tsval >= self.receiver.echoed()
            && !p.has(flags::ECE | flags::CWR | flags::FIN)
            && self.sender.is_window(ack.window)
            && self.receiver.misses_nothing()
            && (u32::from(p.len) == HEADERS || self.receiver.has_memory_for(p, self.sender.charged()))
    }

    /// A packet is taken for one of long ago, or lies before all that was acknowledged or beyond the window
    /// (`tcp_validate_incoming`); it carries what lies between `seq` and `end`, and is so far `ahead` of the packet that changed the peer's window last.
    fn is_to_drop(&self, ack: &Segment, seq: u32, end: u32, ahead: i32) -> bool {
        if self.receiver.is_stale(end) || self.receiver.is_beyond(seq) {
            return true;
        }
        let is_harmless = || {
            let is_next = seq == end && seq == self.receiver.rcv_nxt;
            is_next && self.sender.is_disordered(ack, self.receiver.echoed(), ahead.cmp(&0))
        };
        self.receiver.is_late(ack) && !is_harmless()
    }

    /// Answers a packet that is dropped, with data from `seq` to `end`, or a FIN, or nothing.
    #[cold]
    #[inline(never)]
    fn answer_dropped(&mut self, seq: u32, end: u32, out: &mut impl Outbox) {
        let (receiver, mut out) = self.acknowledging(out);
        if end > seq {
            receiver.refuse(seq, end, &mut out);
        } else {
            receiver.answer_bare(&mut out);
        }
    }

    /// A packet reaches an end that the peer has called; false if it goes on waiting.
    fn accept(&mut self, ack: &Segment, p: &Segment, out: &mut impl Outbox) -> bool {
        let (receiver, mut acknowledging) = self.acknowledging(out);
        acknowledging.seq = 1;
        if !receiver.hear_request(p, &mut acknowledging) {
            return false;
        }
        let (request, rtt_us) = receiver.accepted(&mut acknowledging);
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.accept(ack, request, rtt_us, &mut out);
        true
    }

    /// A SYN or SYN-ACK arrives, which acknowledges `ack`. Returns what is left of one that is taken in as if it were data.
    #[inline(never)]
    fn on_syn(&mut self, p: &Segment, ack: u32, out: &mut impl Outbox) -> Option<Segment> {
        if !self.opens {
            if !self.receiver.has_request() {
                self.sender.hear_of_ecn(p, flags::ECN_SETUP);
            }
            let (receiver, mut out) = self.acknowledging(out);
            if receiver.is_established() {
                receiver.answer_bare(&mut out);
            } else {
                out.seq = 1;
                receiver.hear_request(p, &mut out);
            }
            return None;
        }
        if self.receiver.is_established() {
            // The packet that ended the handshake got lost (`tcp_send_challenge_ack`).
            let (receiver, mut out) = self.acknowledging(out);
            receiver.answer_bare(&mut out);
            return None;
        }
        if ack == 0 || self.sender.is_crossed() {
            return self.on_crossing_syn(p, ack, out);
        }
        self.receiver.connected(p, out.now());
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.refresh(out.now());
        sender.on_syn_ack(p, &mut out);
        None
    }

    /// The sending half, and what it acts through; `blocks` came with the packet in hand.
    fn sending<'a, O: Outbox>(&'a mut self, out: &'a mut O, blocks: Blocks) -> (&'a mut Sender, SenderOutbox<'a, O>) {
        let (receiver, counters) = (&mut self.receiver, &mut self.counters);
        let outbox = SenderOutbox { first: self.first, receiver, counters, blocks, out };
        (&mut self.sender, outbox)
    }

    /// The receiving half, and what it acts through.
    fn acknowledging<'a, O: Outbox>(&'a mut self, out: &'a mut O) -> (&'a mut Receiver, ReceiverOutbox<'a, O>) {
        let seq = self.sender.acceptable(self.receiver.window_scale());
        let Self { first, sender, receiver, counters, .. } = self;
        let base = receiver.base();
        let clock = out.now();
        let outbox =
            ReceiverOutbox { first: *first, sender, seq, base, clock, counters, blocks: Blocks::default(), out };
        (receiver, outbox)
    }
}
