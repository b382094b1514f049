//! The receiver: reassembly, SACK blocks, delayed and quick ACKs, SACK compression
//! (Linux 6.12 net/ipv4/tcp_input.c and tcp_output.c; RFC 1122, RFC 2018, RFC 2883, RFC 5681).
//!
//! Leaves out: retransmission of the SYN-ACK (a repeated SYN brings it again).

mod buffer;
mod delayed_ack;
mod ecn;
mod fast_path;
mod out_of_order;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::buffer::ReceiveBuffer;
use self::ecn::Echo;
use self::stream::Stream;
use crate::attachment::Blocks;
use crate::outbox::{End, Outbox};
use crate::packet::{flags, Ecn, Packet, Way, ACK_FRAME, FULL_FRAME, NO_ATTACHMENT, SYN_FRAME};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::Layout;
use crate::tcp::common::lazy_timer::{LazyTimer, Ticks};
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, MS, NEVER, US};

/// Least delayed-ACK interval, ms (also the quick-ACK interval).
const ATO_MIN_MS: u64 = 40;
/// Largest delayed-ACK interval, ms.
const DELACK_MAX_MS: u64 = 200;
/// Quick ACKs at the start and after gaps.
const MAX_QUICK: u32 = 16;
/// Duplicate ACKs sent at once before compression sets in.
const DUPACKS_AT_ONCE: u32 = 3;
/// ACKs merged at most (sysctl tcp_comp_sack_nr).
const COMPRESSED_MAX: u32 = 44;
/// Longest compression (sysctl tcp_comp_sack_delay_ns) and the timer's slack, ns.
const COMPRESS_MAX: u64 = MS;
const COMPRESS_SLACK: u64 = 100 * US;
/// Blocks remembered.
const SACK_MEMORY: usize = 4;

/// Timers of a receiver, as offsets to its first event source.
pub const SOURCES: usize = 2;

/// What a receiver counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Packets that arrived, all kinds.
    pub arrived: u64,
    /// Data segments among them that had arrived before.
    pub duplicates: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// CE marks seen.
    pub ce: u64,
    /// SCE marks seen.
    pub sce: u64,
}

/// A receiver.
#[derive(Debug)]
pub struct Receiver {
    source: usize,
    clock: Clock,
    /// `ATO_MIN_MS`, half of it, and `DELACK_MAX_MS` in ticks.
    ato_min: u64,
    ato_step: u64,
    delack_max: u64,
    established: bool,
    syn_ack_us: u64,
    /// Next segment expected.
    pub rcv_nxt: u32,
    /// Ranges received out of order, sorted; and how many segments they hold.
    ooo: VecDeque<(u32, u32)>,
    held: u32,
    /// Segments in order that the application has not read yet, and how many one that arrives is (0 or 1).
    unread: u32,
    unread_each: u32,
    /// The most recent ranges first.
    sacks: Vec<(u32, u32)>,
    dsack: Option<(u32, u32)>,
    buffer: ReceiveBuffer,
    quick: u32,
    ato: u64,
    /// Half the least delayed-ACK interval, ns; and that after the last arrival of data in order.
    short_gap: Time,
    short_gap_ends: Time,
    /// Segments in order, below this number and with these header bits (a codepoint), [take the fast path](Self::takes_fast_path); 0: none do.
    fast_path_until: u32,
    fast_path_flags: u16,
    scheduled: bool,
    /// A write of the sender's ended in what was not acknowledged yet.
    pushed: bool,
    now_flag: bool,
    /// The timer of the delayed ACK: it is set if one waits.
    delack: LazyTimer,
    dupacks: u32,
    dupacks_at: u32,
    compress: bool,
    ack_full_push: bool,
    quick_acks_out_of_order: bool,
    widen_out_of_order: bool,
    delack_capped: bool,
    compressed: u32,
    /// What ACKs have in common, with the timestamp to echo; see `form` of the sender.
    form: Packet,
    srtt_us: u64,
    rto: u64,
    echo: Echo,
    counters: Counters,
    layout: Layout,
    /// The end that this half belongs to also sends.
    stream: Option<Stream>,
    /// Time at which a sized transfer was complete.
    pub completed: Option<Time>,
}

impl Receiver {
    /// A listening receiver; `needs_ecn`: the congestion control (DCTCP) sets ECT on ACKs and runs its machine here.
    #[must_use]
    pub fn new(flow: u32, source: usize, spec: &TcpSpec, stack: &Stack, needs_ecn: bool) -> Self {
        let clock = Clock::of(stack);
        let sce = spec.sce_echo.then_some(stack.sce_echo_variant);
        Self {
            source,
            clock,
            ato_min: clock.from_ms(ATO_MIN_MS),
            ato_step: clock.from_ms(ATO_MIN_MS) / 2,
            delack_max: clock.from_ms(DELACK_MAX_MS),
            established: false,
            syn_ack_us: 0,
            rcv_nxt: 1,
            ooo: VecDeque::new(),
            held: 0,
            unread: 0,
            unread_each: u32::from(stack.ack_before_read),
            sacks: Vec::with_capacity(SACK_MEMORY + 1),
            dsack: None,
            buffer: ReceiveBuffer::new(&spec.host, stack),
            quick: 0,
            ato: 0,
            short_gap: clock.start(clock.from_ms(ATO_MIN_MS) / 2),
            short_gap_ends: 0,
            fast_path_flags: 0,
            fast_path_until: 0,
            scheduled: false,
            pushed: false,
            now_flag: false,
            delack: LazyTimer::new(source),
            dupacks: 0,
            dupacks_at: 0,
            compress: stack.sack_compression,
            ack_full_push: stack.ack_full_push,
            quick_acks_out_of_order: stack.quick_acks_out_of_order,
            widen_out_of_order: stack.widen_out_of_order,
            delack_capped: stack.delayed_ack_capped,
            compressed: 0,
            form: Packet {
                way: Way::new(flow),
                len: ACK_FRAME as u16,
                seq: 1,
                window: 0,
                tsval: 0,
                tsecr: 0,
                attachment: NO_ATTACHMENT,
                flags: flags::ACK | if spec.ecn && needs_ecn { Ecn::Ect0 } else { Ecn::NotEct }.flags(),
            },
            srtt_us: 0,
            rto: clock.from_ms(1000),
            echo: Echo::new(spec.ecn, needs_ecn, sce, stack.dctcp_sce_latch),
            counters: Counters::default(),
            layout: Layout::of(spec),
            stream: None,
            completed: None,
        }
    }

    /// Counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Payload read in order by the application, bytes.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.layout.before(self.rcv_nxt)
    }

    /// A packet of the sender arrives.
    pub fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox) {
        self.counters.arrived += 1;
        if self.takes_fast_path(p) {
            self.on_fast_data(p, out);
        } else if self.established && !p.has(flags::SYN | flags::HANDSHAKE) {
            self.on_data(p, out);
        } else {
            self.on_handshake(p, out);
        }
    }

    /// A packet of the handshake arrives, or the first data if the third packet got lost.
    fn on_handshake(&mut self, p: &Packet, out: &mut impl Outbox) {
        if p.has(flags::SYN) {
            return self.send_syn_ack(p.tsval, out);
        }
        if !self.established {
            self.establish(out.now());
        }
        if !p.has(flags::HANDSHAKE) {
            self.on_data(p, out);
        }
    }

    /// Answers a SYN with the timestamp `tsval`.
    fn send_syn_ack(&mut self, tsval: u32, out: &mut impl Outbox) {
        self.form.tsecr = tsval;
        self.syn_ack_us = out.now() / 1000;
        self.buffer.advertise(self.rcv_nxt, self.charged());
        let ack = self.ack_packet(1, self.buffer.offered(), out.now());
        let syn_ack = Packet { len: SYN_FRAME as u16, flags: ack.flags | flags::SYN, ..ack };
        self.counters.acks_sent += 1;
        out.send(End::Receiver, syn_ack);
    }

    fn establish(&mut self, now: Time) {
        self.established = true;
        self.srtt_us = (now / 1000 - self.syn_ack_us).max(1);
        // One sample: RTO is three times it, with the variance's floor.
        self.rto = self.clock.in_ticks(self.srtt_us + (self.srtt_us * 2).max(200_000));
        self.buffer.establish(now / 1000);
    }

    /// Shift of the windows that it advertises.
    #[must_use]
    pub fn window_scale(&self) -> u8 {
        self.buffer.scale()
    }

    #[inline]
    fn ack_packet(&self, ack: u32, window: u32, now: Time) -> Packet {
        Packet { seq: ack, window, tsval: (now / MS) as u32, ..self.form }
    }

    /// Sends an ACK for `ack`; one for an older point than `rcv_nxt` is special: it leaves timer and quick ACKs alone.
    fn send_ack(&mut self, ack: u32, out: &mut impl Outbox) {
        let window = self.buffer.advertise(self.rcv_nxt, self.charged());
        let mut p = self.ack_packet(ack, window, out.now());
        p.flags |= self.echo.take_flags();
        if self.dsack.is_some() || !self.sacks.is_empty() {
            let mut blocks = Blocks::default();
            if let Some(d) = self.dsack.take() {
                blocks.push(d);
            }
            self.sacks.iter().for_each(|&b| blocks.push(b));
            p.len += blocks.option_bytes() as u16;
            out.attach(&mut p, blocks.into());
        }
        self.counters.acks_sent += 1;
        if self.compressed > 0 {
            self.compressed = 0;
            out.set_timer(self.source + 1, NEVER);
        }
        if ack == self.rcv_nxt {
            self.pushed = false;
            self.now_flag = false;
            if let Some(stream) = &mut self.stream {
                stream.pushed_again = false;
            }
            self.note_ack();
        }
        out.send(End::Receiver, p);
    }

    /// Nothing waits to be acknowledged any more.
    #[inline]
    fn note_ack(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.ato_min;
            }
        }
        self.scheduled = false;
        self.delack.clear();
    }

    /// Segments that take room in the buffer.
    fn charged(&self) -> u32 {
        self.held + self.unread
    }

    fn request_quick(&mut self, most: u32) {
        let fit = (self.buffer.end().saturating_sub(self.rcv_nxt) / 2).max(2);
        self.quick = self.quick.max(fit.min(most));
    }

    /// Acknowledges at once for a while, whatever the spacing of the data.
    fn enter_quick(&mut self, most: u32) {
        self.request_quick(most);
        self.leave_ping_pong();
        self.ato = self.ato_min;
    }

    /// Notes the timestamps of a segment. The one echoed is that of the segment that the last ACK asked for.
    #[inline]
    fn take_timestamps(&mut self, p: &Packet, now: Time) {
        if self.buffer.is_acked(p.seq) && p.tsval >= self.form.tsecr {
            self.form.tsecr = p.tsval;
        }
        self.buffer.rtt_by_timestamp(p.tsecr, now);
    }

    fn on_data(&mut self, p: &Packet, out: &mut impl Outbox) {
        let before = self.rcv_nxt;
        self.queue_data(p, out);
        if self.scheduled {
            self.check_ack(out);
        }
        self.update_fast_path(p.ecn());
        self.on_read(self.rcv_nxt > before, out);
    }

    /// Puts a segment into the receive queue, and notes what that means for an ACK.
    fn queue_data(&mut self, p: &Packet, out: &mut impl Outbox) {
        let seq = p.seq;
        self.take_timestamps(p, out.now());
        if p.has(flags::CWR) {
            self.echo.on_cwr();
            self.now_flag = true;
        }
        match p.ecn() {
            Ecn::Ce => self.counters.ce += 1,
            Ecn::Sce => self.counters.sce += 1,
            _ => {}
        }
        self.dsack = None;
        if seq == self.rcv_nxt {
            self.in_order(p, out);
        } else if seq > self.rcv_nxt && seq < self.buffer.end() {
            if self.quick_acks_out_of_order {
                self.enter_quick(MAX_QUICK);
            }
            self.out_of_order(p, out);
        } else {
            // Old, or beyond the window.
            if seq < self.rcv_nxt {
                self.counters.duplicates += 1;
                self.dsack = Some((seq, seq + 1));
            }
            self.enter_quick(MAX_QUICK);
            self.scheduled = true;
        }
    }

    fn in_order(&mut self, p: &Packet, out: &mut impl Outbox) {
        let before = self.rcv_nxt;
        self.rcv_nxt += 1;
        self.unread = self.unread_each;
        self.scheduled = true;
        let widens = if self.stream.is_some() {
            self.measure_in_stream(p)
        } else {
            self.pushed |= self.ends_write(p);
            self.buffer.measure();
            true
        };
        self.buffer.rtt_by_window(self.rcv_nxt, out.now());
        self.time_delayed_ack(out.now());
        self.on_codepoint(p.ecn(), before, out);
        if widens && self.buffer.grow(self.charged()) {
            self.quick |= 1;
        }
        if let Some(&(start, end)) = self.ooo.front() {
            if start <= self.rcv_nxt {
                self.held -= end - start;
                self.unread += (end - start) * self.unread_each;
                self.rcv_nxt = end;
                self.ooo.pop_front();
                // A filled gap is acknowledged at once.
                self.now_flag |= self.ooo.is_empty();
            }
            let next = self.rcv_nxt;
            self.sacks.retain(|&(start, _)| start > next);
        }
        if self.stream.is_none() && self.rcv_nxt == self.layout.end() {
            self.completed.get_or_insert(out.now());
        }
    }

    /// True if a segment shows that nothing follows it for now.
    fn ends_write(&self, p: &Packet) -> bool {
        p.has(flags::PSH) && (self.ack_full_push || u32::from(p.len) < FULL_FRAME)
    }

    /// ECN and SCE; `before` is what was expected before this segment.
    #[inline]
    fn on_codepoint(&mut self, ecn: Ecn, before: u32, out: &mut impl Outbox) {
        if !self.echo.expects(ecn) {
            self.on_news(ecn, before, out);
        }
    }

    fn on_news(&mut self, ecn: Ecn, before: u32, out: &mut impl Outbox) {
        let wish = self.echo.on_segment(ecn, self.delack.is_set());
        if wish.special_ack {
            self.send_ack(before, out);
        }
        self.echo.after_special(ecn);
        self.now_flag |= wish.ack_now;
        if wish.quick > 1 {
            self.request_quick(wish.quick);
        } else {
            self.quick = self.quick.max(wish.quick);
        }
        if wish.reset_interval {
            self.ato = self.ato_min;
            self.leave_ping_pong();
        }
    }

    /// Decides whether to acknowledge now, later, or with others.
    fn check_ack(&mut self, out: &mut impl Outbox) {
        if self.buffer.is_tight(self.charged()) {
            self.quick = 0;
        }
        if self.is_more_than_one_full() || (self.quick > 0 && !self.in_ping_pong()) || self.now_flag {
            self.send_ack(self.rcv_nxt, out);
        } else if self.ooo.is_empty() {
            self.delay_ack(out);
        } else {
            self.compress_ack(out);
        }
    }

    /// The application reads what there is.
    #[inline(always)]
    fn on_read(&mut self, some: bool, out: &mut impl Outbox) {
        self.unread = 0;
        self.buffer.on_read(self.rcv_nxt, out.now());
        if self.scheduled {
            self.ack_after_read(some, out);
        }
    }

    /// The end of a write of the sender's earns an ACK when it was read, and so does a window that opens wide.
    fn ack_after_read(&mut self, some: bool, out: &mut impl Outbox) {
        let write_ended = some && self.held == 0 && self.is_write_to_acknowledge();
        if write_ended || self.buffer.opens_wide(self.rcv_nxt, self.held) {
            self.send_ack(self.rcv_nxt, out);
        }
    }
}
