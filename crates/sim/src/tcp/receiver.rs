//! The receiver: reassembly, SACK blocks, delayed and quick ACKs, SACK compression
//! (Linux 6.12 net/ipv4/tcp_input.c and tcp_output.c; RFC 1122, RFC 2018, RFC 2883, RFC 5681).
//!
//! Leaves out: data of its own, retransmission of the SYN-ACK (a repeated SYN brings it again), ping-pong mode.

use std::collections::VecDeque;

use super::buffers::ReceiveBuffer;
use super::ecn::Echo;
use super::layout::Layout;
use super::sack::Blocks;
use super::stack::Stack;
use super::timer::Clock;
use crate::fabric::Fabric;
use crate::network::FlowSpec;
use crate::packet::{flags, Ecn, Packet, Way, ACK_FRAME, FULL_FRAME, NO_SACK, SYN_FRAME};
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

/// How long a delayed ACK waits.
#[derive(Clone, Copy, Debug)]
enum Delay {
    /// Until a tick; in which one that was decided.
    Until { tick: u64, set_in: u64 },
    /// The least interval from this time on; nobody has asked yet which tick that is.
    LeastFrom(Time),
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
    /// Segments in order with this codepoint are [plain](Self::is_plain), up to a number; 0: none are.
    steady: Ecn,
    steady_until: u32,
    scheduled: bool,
    /// A write of the sender's ended in what was not acknowledged yet.
    pushed: bool,
    now_flag: bool,
    /// The delayed ACK, if one waits, and when its event comes.
    delack: Option<Delay>,
    delack_armed: Time,
    /// Waits of the least interval that begin from here on end after the event, however their tick is rounded.
    after_event: Time,
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
    /// Time at which a sized transfer was complete.
    pub completed: Option<Time>,
}

impl Receiver {
    /// A listening receiver; `needs_ecn`: the congestion control (DCTCP) sets ECT on ACKs and runs its machine here.
    #[must_use]
    pub fn new(flow: u32, source: usize, spec: &FlowSpec, stack: &Stack, needs_ecn: bool) -> Self {
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
            steady: Ecn::NotEct,
            steady_until: 0,
            scheduled: false,
            pushed: false,
            now_flag: false,
            delack: None,
            delack_armed: NEVER,
            after_event: NEVER,
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
                sack: NO_SACK,
                flags: flags::ACK,
                ecn: if spec.ecn && needs_ecn { Ecn::Ect0 } else { Ecn::NotEct },
            },
            srtt_us: 0,
            rto: clock.from_ms(1000),
            echo: Echo::new(spec.ecn, needs_ecn, sce, stack.dctcp_sce_latch),
            counters: Counters::default(),
            layout: Layout::of(spec),
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
    pub fn on_packet(&mut self, p: &Packet, net: &mut Fabric) {
        self.counters.arrived += 1;
        if self.is_plain(p) {
            self.on_plain_data(p, net);
        } else if self.established && !p.has(flags::SYN | flags::HANDSHAKE) {
            self.on_data(p, net);
        } else {
            self.on_handshake(p, net);
        }
    }

    /// A packet of the handshake arrives, or the first data if the third packet got lost.
    fn on_handshake(&mut self, p: &Packet, net: &mut Fabric) {
        if p.has(flags::SYN) {
            self.form.tsecr = p.tsval;
            self.syn_ack_us = net.now / 1000;
            self.buffer.advertise(self.rcv_nxt, self.charged());
            let ack = self.ack_packet(1, self.buffer.offered(), net.now);
            let syn_ack = Packet { len: SYN_FRAME as u16, flags: flags::ACK | flags::SYN, ..ack };
            self.counters.acks_sent += 1;
            net.send_back(syn_ack);
            return;
        }
        if !self.established {
            self.establish(net.now);
        }
        if !p.has(flags::HANDSHAKE) {
            self.on_data(p, net);
        }
    }

    fn establish(&mut self, now: Time) {
        self.established = true;
        self.srtt_us = (now / 1000 - self.syn_ack_us).max(1);
        // One sample: RTO is three times it, with the variance's floor.
        self.rto = self.clock.from_us(self.srtt_us + (self.srtt_us * 2).max(200_000));
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
    fn send_ack(&mut self, ack: u32, net: &mut Fabric) {
        let window = self.buffer.advertise(self.rcv_nxt, self.charged());
        let mut p = self.ack_packet(ack, window, net.now);
        p.flags = flags::ACK | self.echo.take_flags();
        if self.dsack.is_some() || !self.sacks.is_empty() {
            let mut blocks = Blocks::default();
            if let Some(d) = self.dsack.take() {
                blocks.push(d);
            }
            self.sacks.iter().for_each(|&b| blocks.push(b));
            p.len += blocks.option_bytes() as u16;
            net.attach(&mut p, blocks);
        }
        self.counters.acks_sent += 1;
        if self.compressed > 0 {
            self.compressed = 0;
            net.events.set(self.source + 1, NEVER);
        }
        if ack == self.rcv_nxt {
            self.pushed = false;
            self.now_flag = false;
            self.note_ack();
        }
        net.send_back(p);
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
        self.delack = None;
    }

    /// What [`Self::send_ack`] does after a [plain](Self::is_plain) segment.
    #[inline]
    fn send_plain_ack(&mut self, net: &mut Fabric) {
        let window = self.buffer.advertise_at_rest(self.rcv_nxt);
        let flags = flags::ACK | self.echo.take_flags();
        let p = Packet { flags, ..self.ack_packet(self.rcv_nxt, window, net.now) };
        self.counters.acks_sent += 1;
        self.note_ack();
        net.send_back(p);
    }

    /// Segments that take room in the buffer.
    fn charged(&self) -> u32 {
        self.held + self.unread
    }

    fn request_quick(&mut self, most: u32) {
        let fit = (self.buffer.end().saturating_sub(self.rcv_nxt) / 2).max(2);
        self.quick = self.quick.max(fit.min(most));
    }

    /// Notes the timestamps of a segment. The one echoed is that of the segment that the last ACK asked for.
    #[inline]
    fn take_timestamps(&mut self, p: &Packet, now: Time) {
        if self.buffer.is_acked(p.seq) && p.tsval >= self.form.tsecr {
            self.form.tsecr = p.tsval;
        }
        self.buffer.rtt_by_timestamp(p.tsecr, now);
    }

    /// True for the common segment: the next one, without a flag or a mark, when nothing is missing or waits to be said. What is left of
    /// [`Self::on_data`] is to count it, to widen the window and to acknowledge it in its turn.
    #[inline]
    pub(super) fn is_plain(&self, p: &Packet) -> bool {
        p.seq == self.rcv_nxt && p.seq < self.steady_until && p.ecn == self.steady && p.flags == 0
    }

    /// What [`Self::on_data`] does about a [plain](Self::is_plain) segment.
    fn on_plain_data(&mut self, p: &Packet, net: &mut Fabric) {
        if self.buffer.is_acked(p.seq) {
            // Its timestamp is the one to echo, and the segment after it is the one to acknowledge.
            self.form.tsecr = self.form.tsecr.max(p.tsval);
            self.count_plain(p, net.now);
            if self.quick == 0 {
                self.scheduled = true;
                return self.delay_plain_ack(net);
            }
        } else {
            self.count_plain(p, net.now);
        }
        self.send_plain_ack(net);
        self.buffer.on_read(self.rcv_nxt, net.now);
    }

    #[inline(always)]
    fn count_plain(&mut self, p: &Packet, now: Time) {
        self.rcv_nxt = p.seq + 1;
        self.buffer.rtt_by_timestamp(p.tsecr, now);
        self.time_delayed_ack(now);
        if self.buffer.grow_at_rest() {
            self.quick |= 1;
        }
    }

    /// What [`Self::delay_ack`] does after a [plain](Self::is_plain) segment. Mostly the timer's event comes before the least interval ends,
    /// and an ACK before both.
    #[inline]
    fn delay_plain_ack(&mut self, net: &mut Fabric) {
        if self.delack.is_none() && self.ato == self.ato_min && net.now >= self.after_event {
            self.delack = Some(Delay::LeastFrom(net.now));
            self.buffer.on_read(self.rcv_nxt, net.now);
            if self.buffer.may_open_wide() {
                self.ack_after_read(true, net);
            }
        } else {
            self.unread = self.unread_each;
            self.delay_ack(net);
            self.on_read(true, net);
        }
    }

    /// Looks whether the next segments may be [plain](Self::is_plain), after one with codepoint `ecn`.
    fn settle(&mut self, ecn: Ecn) {
        self.steady_until = 0;
        if !self.ooo.is_empty() || !self.sacks.is_empty() || self.dsack.is_some() {
            return;
        }
        let silent = self.compressed == 0 && !self.now_flag && !self.pushed;
        let roomy = self.buffer.is_measured() && !self.buffer.is_tight(self.unread_each);
        let unmarked = matches!(ecn, Ecn::NotEct | Ecn::Ect0) && self.echo.expects(ecn);
        if silent && roomy && unmarked {
            self.steady = ecn;
            // One short of what the next arrival brings about.
            self.steady_until = self.buffer.window_ends().min(self.layout.end()).saturating_sub(1);
        }
    }

    fn on_data(&mut self, p: &Packet, net: &mut Fabric) {
        let seq = p.seq;
        self.take_timestamps(p, net.now);
        if p.has(flags::CWR) {
            self.echo.on_cwr();
            self.now_flag = true;
        }
        match p.ecn {
            Ecn::Ce => self.counters.ce += 1,
            Ecn::Sce => self.counters.sce += 1,
            _ => {}
        }
        self.dsack = None;
        let before = self.rcv_nxt;
        if seq == self.rcv_nxt {
            self.in_order(p, net);
        } else if seq > self.rcv_nxt && seq < self.buffer.end() {
            if self.quick_acks_out_of_order {
                self.request_quick(MAX_QUICK);
                self.ato = self.ato_min;
            }
            self.out_of_order(p, net);
        } else {
            // Old, or beyond the window.
            if seq < self.rcv_nxt {
                self.counters.duplicates += 1;
                self.dsack = Some((seq, seq + 1));
            }
            self.request_quick(MAX_QUICK);
            self.ato = self.ato_min;
            self.scheduled = true;
        }
        if self.scheduled {
            self.check_ack(net);
        }
        self.settle(p.ecn);
        self.on_read(self.rcv_nxt > before, net);
    }

    fn in_order(&mut self, p: &Packet, net: &mut Fabric) {
        let before = self.rcv_nxt;
        self.rcv_nxt += 1;
        self.unread = self.unread_each;
        self.scheduled = true;
        self.pushed |= self.ends_write(p);
        self.buffer.measure();
        self.buffer.rtt_by_window(self.rcv_nxt, net.now);
        self.time_delayed_ack(net.now);
        self.on_codepoint(p.ecn, before, net);
        if self.buffer.grow(self.charged()) {
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
        if self.rcv_nxt == self.layout.end() {
            self.completed.get_or_insert(net.now);
        }
    }

    /// True if a segment shows that nothing follows it for now.
    fn ends_write(&self, p: &Packet) -> bool {
        p.has(flags::PSH) && (self.ack_full_push || u32::from(p.len) < FULL_FRAME)
    }

    /// Adapts the delayed-ACK interval to the spacing of the data.
    #[inline(always)]
    fn time_delayed_ack(&mut self, now: Time) {
        if now < self.short_gap_ends {
            self.ato = (self.ato >> 1) + self.ato_step;
        } else {
            self.time_gap(now);
        }
        self.short_gap_ends = now + self.short_gap;
    }

    fn time_gap(&mut self, now: Time) {
        if self.ato == 0 {
            self.request_quick(MAX_QUICK);
            self.ato = self.ato_min;
            return;
        }
        // What came out of order may have set the interval before any data came in order.
        let last_data = self.short_gap_ends.saturating_sub(self.short_gap);
        let gap = self.clock.jiffies(now) - self.clock.jiffies(last_data);
        if gap <= self.ato_step {
            self.ato = (self.ato >> 1) + self.ato_step;
        } else if gap < self.ato {
            self.ato = self.bound_ato((self.ato >> 1) + gap);
        } else if gap > self.rto {
            self.request_quick(MAX_QUICK);
        }
    }

    fn bound_ato(&self, ato: u64) -> u64 {
        ato.min(self.rto).min(if self.delack_capped { self.delack_max } else { u64::MAX })
    }

    /// ECN and SCE; `before` is what was expected before this segment.
    #[inline]
    fn on_codepoint(&mut self, ecn: Ecn, before: u32, net: &mut Fabric) {
        if !self.echo.expects(ecn) {
            self.on_news(ecn, before, net);
        }
    }

    fn on_news(&mut self, ecn: Ecn, before: u32, net: &mut Fabric) {
        let wish = self.echo.on_segment(ecn, self.delack.is_some());
        if wish.special_ack {
            self.send_ack(before, net);
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
        }
    }

    fn out_of_order(&mut self, p: &Packet, net: &mut Fabric) {
        let seq = p.seq;
        self.on_codepoint(p.ecn, self.rcv_nxt, net);
        self.scheduled = true;
        self.pushed |= self.ends_write(p);
        let at = self.ooo.partition_point(|&(_, end)| end < seq);
        match self.ooo.get_mut(at) {
            Some(run) if run.0 <= seq && seq < run.1 => {
                self.counters.duplicates += 1;
                self.dsack = Some((seq, seq + 1));
                return;
            }
            Some(run) if run.1 == seq => {
                run.1 += 1;
                if self.ooo.get(at + 1).is_some_and(|next| next.0 == seq + 1) {
                    self.ooo[at].1 = self.ooo[at + 1].1;
                    self.ooo.remove(at + 1);
                }
            }
            Some(run) if run.0 == seq + 1 => run.0 = seq,
            _ => self.ooo.insert(at, (seq, seq + 1)),
        }
        self.held += 1;
        if self.widen_out_of_order && self.buffer.grow(self.held) {
            self.quick |= 1;
        }
        self.remember_sack(seq, net);
    }

    /// Keeps the most recent ranges, newest first.
    fn remember_sack(&mut self, seq: u32, net: &mut Fabric) {
        let touches = |b: &(u32, u32)| seq <= b.1 && b.0 <= seq + 1;
        if let Some(i) = self.sacks.iter().position(touches) {
            if i >= super::sack::MAX_BLOCKS {
                self.flush_compressed(net);
            }
            let (mut start, mut end) = self.sacks.remove(i);
            (start, end) = (start.min(seq), end.max(seq + 1));
            self.sacks.retain(|&(s, e)| {
                let joins = s <= end && start <= e;
                if joins {
                    (start, end) = (start.min(s), end.max(e));
                }
                !joins
            });
            self.sacks.insert(0, (start, end));
            return;
        }
        if self.sacks.len() >= super::sack::MAX_BLOCKS {
            self.flush_compressed(net);
        }
        self.sacks.truncate(SACK_MEMORY - 1);
        self.sacks.insert(0, (seq, seq + 1));
    }

    /// Sends what is being held back (when its time has come, or a block would be forgotten unsent).
    fn flush_compressed(&mut self, net: &mut Fabric) {
        if self.compressed > 0 {
            self.send_ack(self.rcv_nxt, net);
        }
    }

    /// Decides whether to acknowledge now, later, or with others.
    fn check_ack(&mut self, net: &mut Fabric) {
        if self.buffer.is_tight(self.charged()) {
            self.quick = 0;
        }
        if self.buffer.unacked(self.rcv_nxt) > 1 || self.quick > 0 || self.now_flag {
            self.send_ack(self.rcv_nxt, net);
        } else if self.ooo.is_empty() {
            self.delay_ack(net);
        } else {
            self.compress_ack(net);
        }
    }

    fn compress_ack(&mut self, net: &mut Fabric) {
        if self.dupacks_at != self.rcv_nxt {
            self.dupacks_at = self.rcv_nxt;
            self.dupacks = 0;
        }
        if !self.compress || self.compressed >= COMPRESSED_MAX || self.dupacks < DUPACKS_AT_ONCE {
            self.dupacks += 1;
            self.send_ack(self.rcv_nxt, net);
            return;
        }
        self.compressed += 1;
        if self.compressed == 1 {
            let rtt_us8 =
                if self.srtt_us > 0 { self.buffer.rtt_us8.min(self.srtt_us << 3) } else { self.buffer.rtt_us8 };
            let delay = COMPRESS_MAX.min(rtt_us8 * 125 / 20);
            net.events.set(self.source + 1, net.now + delay + COMPRESS_SLACK);
        }
    }

    /// The application reads what there is.
    #[inline(always)]
    fn on_read(&mut self, some: bool, net: &mut Fabric) {
        self.unread = 0;
        self.buffer.on_read(self.rcv_nxt, net.now);
        if self.scheduled {
            self.ack_after_read(some, net);
        }
    }

    /// The end of a write of the sender's earns an ACK when it was read, and so does a window that opens wide.
    fn ack_after_read(&mut self, some: bool, net: &mut Fabric) {
        let write_ended = some && self.pushed && self.held == 0;
        if write_ended || self.buffer.opens_wide(self.rcv_nxt, self.held) {
            self.send_ack(self.rcv_nxt, net);
        }
    }

    fn delay_ack(&mut self, net: &mut Fabric) {
        let mut ato = self.ato;
        if ato > self.ato_min {
            let mut most = if self.pushed && !self.delack_capped { self.delack_max } else { self.clock.from_ms(500) };
            if self.srtt_us > 0 {
                most = most.min(self.clock.from_us(self.srtt_us).max(self.ato_min));
            }
            ato = ato.min(most);
        }
        if self.delack_capped {
            ato = ato.min(self.delack_max);
        }
        let jiffies = self.clock.jiffies(net.now);
        let mut expires = jiffies + ato;
        if let Some((pending, _)) = self.delack_ticks() {
            if pending <= jiffies + (ato >> 2) {
                self.send_ack(self.rcv_nxt, net);
                return;
            }
            expires = expires.min(pending);
        }
        self.delack = Some(Delay::Until { tick: expires, set_in: jiffies });
        // A later deadline leaves the earlier event in place; it re-arms itself when it comes.
        if self.clock.start(expires) < self.delack_armed {
            let fires = self.delack_fires();
            if fires < self.delack_armed {
                self.set_event(net, fires);
            }
        }
    }

    /// Moves the event of the delayed ACK.
    fn set_event(&mut self, net: &mut Fabric, time: Time) {
        self.delack_armed = time;
        self.after_event = time.saturating_sub(self.clock.start(self.ato_min)).saturating_add(self.clock.start(1));
        net.events.set(self.source, time);
    }

    /// The tick that the delayed ACK waits for, and the one in which that was decided.
    fn delack_ticks(&self) -> Option<(u64, u64)> {
        self.delack.map(|delay| match delay {
            Delay::Until { tick, set_in } => (tick, set_in),
            Delay::LeastFrom(time) => (self.clock.jiffies(time) + self.ato_min, self.clock.jiffies(time)),
        })
    }

    /// When the timer of the delayed ACK fires.
    fn delack_fires(&self) -> Time {
        self.delack_ticks().map_or(NEVER, |(tick, set_in)| self.clock.fires(set_in, tick))
    }

    /// A timer's event: 0 is the delayed ACK, 1 the compressed ACK.
    pub fn on_timer(&mut self, which: usize, net: &mut Fabric) {
        if which == 1 {
            net.events.set(self.source + 1, NEVER);
            self.flush_compressed(net);
            return;
        }
        let fires = self.delack_fires();
        if fires > net.now {
            // The deadline has moved, or is gone.
            return self.set_event(net, fires);
        }
        self.set_event(net, NEVER);
        if self.delack.take().is_some() && self.scheduled {
            self.ato = self.bound_ato(self.ato << 1);
            self.send_ack(self.rcv_nxt, net);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Route;
    use crate::network::{HostSpec, StackSpec};

    /// ACKs that each of the segments `seqs`, 1 ms apart, brings about at once, after `before` in order.
    fn acks(stack: &str, before: u32, seqs: &[u32]) -> Vec<usize> {
        let stack = StackSpec { name: stack.into(), options: serde_json::Map::new() };
        let host = HostSpec {
            tso: false,
            rmem: [4096, 87_380, 6_291_456],
            rcvbuf: Some(200_000),
            wmem: [4096, 16_384, 4_194_304],
            sndbuf: None,
            cached_ssthresh: None,
        };
        let spec = FlowSpec {
            name: "f".into(),
            cc: "reno".into(),
            stack: stack.clone(),
            host,
            ecn: false,
            sce_echo: false,
            local_first_port: false,
            forward: vec![],
            reverse: vec![],
            start_ns: 0,
            stop_ns: None,
            transfer_bytes: None,
            src_host: 1,
            dst_host: 2,
            from_right: false,
            first_write_bytes: None,
        };
        let route = Route { forward: Box::default(), reverse: Box::default() };
        let mut net = Fabric::new(vec![], vec![route], vec![], SOURCES, 0);
        let mut r = Receiver::new(0, 0, &spec, &Stack::from_spec(&stack).unwrap(), false);
        let mut packet = |seq: u32, len: u32, flags: u8| {
            net.now += MS;
            net.drain();
            let (tsval, window) = ((net.now / MS) as u32, 0);
            let ecn = Ecn::NotEct;
            let p =
                Packet { way: Way::new(0), len: len as u16, seq, window, tsval, tsecr: 0, sack: NO_SACK, flags, ecn };
            r.on_packet(&p, &mut net);
            net.arrivals.len()
        };
        packet(0, SYN_FRAME, flags::SYN);
        packet(1, ACK_FRAME, flags::HANDSHAKE);
        for seq in 1..=before {
            packet(seq, FULL_FRAME, 0);
        }
        seqs.iter().map(|&seq| packet(seq, FULL_FRAME, 0)).collect()
    }

    #[test]
    fn two_segments_earn_an_ack() {
        for stack in ["linux-6.12", "linux-3.9"] {
            let found = acks(stack, 61, &[62, 63, 64, 65]);
            assert!(found == [0, 1, 0, 1] || found == [1, 0, 1, 0], "{stack}: {found:?}");
        }
    }

    #[test]
    fn the_first_segment_may_come_out_of_order() {
        // That sets the interval of delayed ACKs in Linux 3.9, before there was a segment in order to count from.
        for stack in ["linux-6.12", "linux-3.9"] {
            assert_eq!(acks(stack, 0, &[2, 1, 3]), [1, 1, 1], "{stack}");
        }
    }

    #[test]
    fn a_gap_brings_quick_acks_until_4_17() {
        // tcp_data_queue enters quick-ACK mode for every segment out of order: 16 ACKs, of which two are used up by the gap.
        let seqs: Vec<u32> = [63, 62].into_iter().chain(64..84).collect();
        assert_eq!(acks("linux-6.12", 61, &seqs)[..6], [1, 1, 0, 1, 0, 1]);
        let old = acks("linux-3.9", 61, &seqs);
        assert_eq!(old[..16], [1; 16]);
        assert_eq!(old[16..], [0, 1, 0, 1, 0, 1]);
    }
}
