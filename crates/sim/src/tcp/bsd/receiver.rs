//! The receiver: reassembly, SACK blocks, delayed ACKs, the advertised window (FreeBSD 9.3 sys/netinet/tcp_input.c `tcp_do_segment`,
//! tcp_reass.c, tcp_sack.c `tcp_update_sack_list`, tcp_output.c, tcp_syncache.c; RFC 1122, RFC 2018). The application reads as soon as
//! a segment has been processed: an ACK that a segment makes still shows its data in the buffer.
//!
//! Leaves out: data of its own, retransmission of the SYN-ACK (a repeated SYN brings it again), PAWS, limits on the segments that wait
//! for a gap to close (the window is smaller).

use std::collections::VecDeque;

use super::clock::Clock;
use super::ecn::Echoing;
use super::sockbuf::Size;
use super::stack::{Stack, MAX_WINDOW};
use crate::attachment::{Blocks, MAX_BESIDE_TIMESTAMPS};
use crate::outbox::{End, Outbox};
use crate::packet::{Direction, Ecn, Way, ACK_FRAME, HEADERS, MSS, NO_ATTACHMENT, SYN_FRAME};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::idle_window::IdleWindow;
use crate::tcp::common::layout::Layout;
use crate::tcp::common::lazy_timer::{LazyTimer, Ticks};
use crate::tcp::common::ranges::{self, Latest};
use crate::tcp::transport::ReceiverCounters;
use crate::time::{Time, MS};

const SEG: u64 = MSS as u64;
/// Blocks remembered (`MAX_SACK_BLKS`).
const SACK_MEMORY: usize = 6;

/// Round trips as growth of the buffer counts them: timestamp of the first packet, and bytes since.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began_ms: Option<u32>,
    bytes: u64,
}

/// A receiver. Wide because it has the variables of FreeBSD's `tcpcb` under their names, so that it can be read beside the original.
#[derive(Debug)]
pub struct Receiver {
    flow: u32,
    clock: Clock,
    established: bool,
    echo: Echoing,
    delack_ticks: u64,
    delays: bool,
    hz: u32,
    scale: u32,
    buffer: Size,
    /// Next segment expected.
    rcv_nxt: u32,
    /// Ranges received out of order, sorted.
    queue: VecDeque<(u32, u32)>,
    /// SACK blocks, the most recent first.
    sacks: Latest<SACK_MEMORY>,
    /// In order and not read yet, bytes.
    unread: u64,
    /// First byte beyond the advertised window (segment 1 begins at byte 0).
    rcv_adv: u64,
    last_ack_sent: u32,
    sent_zero_window: bool,
    ts_recent: u32,
    delack: LazyTimer,
    round: Round,
    counters: ReceiverCounters,
    layout: Layout,
    completed: Option<Time>,
}

/// Return the window of the end that sends the data of one-way connections (FreeBSD 9.3 sys/netinet/tcp_output.c).
pub fn idle_window(spec: &TcpSpec, stack: &Stack) -> IdleWindow {
    let (scale, room) = (stack.window_scale(), buffer(spec, stack).bytes);
    IdleWindow {
        syn: room.min(MAX_WINDOW) as u16,
        bytes: (room.min(MAX_WINDOW << scale) >> scale << scale) as u32,
        scale: scale as u8,
    }
}

/// Return the receive buffer of either end.
fn buffer(spec: &TcpSpec, stack: &Stack) -> Size {
    Size::new(stack, spec.host.rcvbuf, stack.recvspace, stack.recvbuf_inc, stack.recvbuf_max)
}

impl Receiver {
    /// A listening receiver whose delayed-ACK timer is event source `source`.
    #[must_use]
    pub fn new(flow: u32, source: usize, spec: &TcpSpec, stack: &Stack) -> Self {
        Self {
            flow,
            clock: Clock::new(stack.hz),
            established: false,
            echo: Echoing::new(spec.ecn),
            delack_ticks: stack.ticks(stack.delacktime_ms),
            delays: stack.delayed_ack,
            hz: stack.hz,
            scale: stack.window_scale(),
            buffer: buffer(spec, stack),
            rcv_nxt: 1,
            queue: VecDeque::new(),
            sacks: Latest::new(),
            unread: 0,
            rcv_adv: 0,
            last_ack_sent: 1,
            sent_zero_window: false,
            ts_recent: 0,
            delack: LazyTimer::new(source),
            round: Round::default(),
            counters: ReceiverCounters::default(),
            layout: Layout::of(spec),
            completed: None,
        }
    }

    /// Counters.
    #[must_use]
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// Time at which a sized transfer was complete.
    #[must_use]
    pub fn completed(&self) -> Option<Time> {
        self.completed
    }

    /// Payload read in order by the application, bytes.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.next_byte()
    }

    /// Byte that `rcv_nxt` begins at.
    fn next_byte(&self) -> u64 {
        self.layout.before(self.rcv_nxt)
    }

    /// A packet of the sender arrives.
    #[inline(never)]
    pub fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.counters.arrived += 1;
        if p.has(flags::SYN) {
            self.ts_recent = p.tsval;
            let window = self.buffer.bytes.min(MAX_WINDOW);
            self.rcv_adv = self.rcv_adv.max(window);
            let syn_ack = Segment {
                len: SYN_FRAME as u16,
                flags: Direction::Reverse.flags() | flags::SYN | self.echo.answer(p),
                window: window as u32,
                ..self.packet(1, out.now())
            };
            self.counters.acks_sent += 1;
            out.send(End::Receiver, syn_ack);
            return;
        }
        self.echo.on_packet(p);
        let first = !std::mem::replace(&mut self.established, true);
        if !p.has(flags::HANDSHAKE) {
            self.on_data(p, out);
        } else if first {
            // The SYN-ACK could not tell of more than 64 KiB.
            self.announce(out);
        }
    }

    /// Shift of the windows that it advertises.
    pub fn window_scale(&self) -> u8 {
        self.scale as u8
    }

    fn packet(&self, ack: u32, now: Time) -> Segment {
        Segment {
            way: Way::new(self.flow),
            len: ACK_FRAME as u16,
            seq: ack,
            window: 0,
            tsval: (now / MS) as u32,
            tsecr: self.ts_recent,
            attachment: NO_ATTACHMENT,
            flags: Direction::Reverse.flags(),
        }
    }

    fn on_data(&mut self, p: &Segment, out: &mut impl Outbox) {
        let seq = p.seq;
        match p.ecn() {
            Ecn::Ce => self.counters.ce += 1,
            Ecn::Ect1 => self.counters.sce += 1,
            _ => {}
        }
        self.layout.hear(seq, u32::from(p.len) - HEADERS);
        if seq < self.rcv_nxt {
            // Only the end of an old segment is left.
            self.counters.duplicates += 1;
            self.round = Round::default();
            if seq + 1 == self.last_ack_sent {
                self.ts_recent = p.tsval;
            }
            return self.send_ack(out);
        }
        let end = self.next_byte() + self.buffer.bytes;
        if self.layout.before(seq + 1) > end.max(self.rcv_adv) {
            return self.send_ack(out);
        }
        if seq <= self.last_ack_sent && self.last_ack_sent <= seq + 1 {
            self.ts_recent = p.tsval;
        }
        if seq == self.rcv_nxt && self.queue.is_empty() {
            self.in_order(p, out);
        } else {
            self.round = Round::default();
            self.reassemble(seq);
            self.update_sacks(seq);
            self.send_ack(out);
        }
        if self.rcv_nxt == self.layout.end() {
            self.completed.get_or_insert(out.now());
        }
        self.on_read(out);
    }

    /// The common case.
    fn in_order(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.sacks.clear();
        let payload = u64::from(self.layout.payload(self.rcv_nxt));
        self.rcv_nxt += 1;
        self.unread += payload;
        self.tune(p.tsecr, payload);
        if self.delays && !self.delack.is_set() && !self.sent_zero_window {
            let now = self.clock.tick(out.now());
            self.delack.set(&self.clock, now, now + self.delack_ticks, out);
        } else {
            self.send_ack(out);
        }
    }

    /// The buffer grows by a step if a round trip brought seven eighths of it.
    fn tune(&mut self, tsecr: u32, payload: u64) {
        if !self.buffer.auto() {
            return;
        }
        match self.round.began_ms {
            Some(began) if tsecr > began && tsecr - began < self.hz => {
                if self.round.bytes > self.buffer.bytes / 8 * 7 {
                    self.buffer.grow();
                }
                self.round = Round::default();
            }
            _ => self.round.bytes += payload,
        }
    }

    /// Queues a segment, and takes in what is in order now.
    fn reassemble(&mut self, seq: u32) {
        if !ranges::insert(&mut self.queue, seq, seq + 1) {
            self.counters.duplicates += 1;
        }
        if let Some(&(start, end)) = self.queue.front() {
            if start == self.rcv_nxt {
                self.unread += self.layout.span(start, end);
                self.rcv_nxt = end;
                self.queue.pop_front();
            }
        }
    }

    /// Puts the range of a segment first, joined with those that it touches.
    fn update_sacks(&mut self, seq: u32) {
        let next = self.rcv_nxt;
        self.sacks.keep_above(next);
        if seq > next {
            self.sacks.put_first(seq);
        }
    }

    /// The window to offer, bytes: never less than was offered before.
    fn window(&self) -> u64 {
        let mut window = self.buffer.bytes.saturating_sub(self.unread);
        if window < self.buffer.bytes / 4 && window < SEG {
            window = 0;
        }
        window.max(self.offered()).min(MAX_WINDOW << self.scale)
    }

    /// Rest of the window offered before, bytes.
    fn offered(&self) -> u64 {
        self.rcv_adv.saturating_sub(self.next_byte())
    }

    fn send_ack(&mut self, out: &mut impl Outbox) {
        let window = self.window();
        let scaled = window >> self.scale << self.scale;
        let mut p = Segment { window: scaled as u32, ..self.packet(self.rcv_nxt, out.now()) };
        p.flags |= self.echo.echo();
        if !self.sacks.is_empty() {
            let mut blocks = Blocks::default();
            self.sacks.as_slice().iter().take(MAX_BESIDE_TIMESTAMPS).for_each(|&b| blocks.push(b));
            p.len += blocks.option_bytes() as u16;
            p.attachment = out.attach(blocks.into());
        }
        if self.buffer.auto() {
            self.round.began_ms.get_or_insert((out.now() / MS) as u32);
        }
        self.sent_zero_window = scaled == 0;
        self.counters.acks_sent += 1;
        self.rcv_adv = self.rcv_adv.max(self.next_byte() + window);
        self.last_ack_sent = self.rcv_nxt;
        self.delack.clear();
        out.send(End::Receiver, p);
    }

    /// The application reads what there is.
    fn on_read(&mut self, out: &mut impl Outbox) {
        if std::mem::take(&mut self.unread) > 0 {
            self.announce(out);
        }
    }

    /// Tells of the window if it has opened by a quarter of the buffer.
    fn announce(&mut self, out: &mut impl Outbox) {
        let (size, offered) = (self.buffer.bytes, self.offered());
        let open = size.min(MAX_WINDOW << self.scale);
        let opens = open.saturating_sub(offered);
        let shows = offered >> self.scale != open >> self.scale;
        if shows && opens >= 2 * SEG && (opens >= size / 4 || size <= 8 * SEG) {
            self.send_ack(out);
        }
    }

    /// The delayed-ACK timer's event.
    #[inline(never)]
    pub fn on_timer(&mut self, out: &mut impl Outbox) {
        if self.delack.expired(&self.clock, out) {
            self.send_ack(out);
        }
    }
}
