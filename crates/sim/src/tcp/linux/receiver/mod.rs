//! The receiver: reassembly, SACK blocks, delayed and quick ACKs, SACK compression
//! (Linux 6.12 net/ipv4/tcp_input.c and tcp_output.c; RFC 1122, RFC 2018, RFC 2883, RFC 5681).

mod accecn;
mod application;
mod buffer;
mod charge;
mod closing;
mod compression;
mod delayed_ack;
mod ecn;
mod fast_path;
mod gro;
mod handshake;
mod opening;
mod out_of_order;
pub mod reader;
mod stream;
#[cfg(test)]
mod tests;
mod validate;
mod window;
mod window_rtt;

pub use window::idle_window;

use self::accecn::Counts;
use self::application::Application;
use self::buffer::ReceiveBuffer;
use self::charge::{Cost, Head, Unread};
use self::closing::{is_bare, is_bare_fin, Closing};
use self::compression::Compression;
use self::delayed_ack::AckDelay;
use self::ecn::Echo;
use self::gro::Gro;
use self::opening::Opening;
use self::out_of_order::OutOfOrder;
use self::reader::Reader;
use self::stream::Stream;
use crate::attachment::most_blocks;
use crate::cc::Needs;
use crate::outbox::{End, Outbox};
use crate::packet::{Direction, Ecn, Way, ACK_FRAME, HEADERS, NO_ATTACHMENT};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::Layout;
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::validate::Answers;
use crate::tcp::transport::ReceiverCounters;
use crate::time::{Time, MS};

/// Shorter segments do not widen the window, bytes (`tcp_event_data_recv`).
const WIDENING: u32 = 128;
/// Quick ACKs at the start and after gaps.
const MAX_QUICK: u32 = 16;

/// Timers of a receiver, as offsets to its first event source.
pub const SOURCES: usize = 2;

/// RTT of the connection as the receiver knows it: from the handshake, or as the sending half of its end measures it.
#[derive(Clone, Copy, Debug)]
struct RttEstimates {
    /// When the SYN-ACK was sent last, or the SYN by an end that opens and receives, us.
    syn_ack_us: u64,
    /// Smoothed RTT, us; 0: not known. The same in ticks.
    srtt_us: u64,
    srtt: u64,
    /// Retransmission timeout, ticks, and the minimum of its variance, us.
    rto: u64,
    rto_min_us: u64,
}

/// In what the receivers of kernels differ; see [`Stack`].
#[derive(Clone, Copy, Debug)]
struct Kernel {
    acks_full_push: bool,
    quick_acks_out_of_order: bool,
    widens_out_of_order: bool,
    /// A segment in order is acknowledged before it is read, while it is charged.
    charges_in_order: bool,
    returns_memory: bool,
    ignores_old_acks: bool,
    /// The buffer is tuned by the time of the last arrival.
    tunes_by_arrival: bool,
    cost: Cost,
}

/// Segments that [take the fast path](Receiver::takes_fast_path): in order, below this number and with these header bits (a codepoint).
#[derive(Clone, Copy, Debug, Default)]
struct FastPath {
    /// 0: none do.
    until: u32,
    /// The length of the frame of a full segment, and its header bits.
    form: u32,
}

/// A receiver. Wide because most fields are components with private state, whose types say when they are called; those that every segment
/// needs come first.
#[derive(Debug)]
pub struct Receiver {
    /// Next segment expected.
    pub rcv_nxt: u32,
    fast_path: FastPath,
    /// Not any more once it is closed.
    established: bool,
    /// A write of the sender's ended in what was not acknowledged yet (ICSK_ACK_PUSHED); and another one (ICSK_ACK_PUSHED2).
    pushed: bool,
    pushed_again: bool,
    /// An ACK has to go at once.
    ack_now: bool,
    /// Segments in order that the application has not read yet.
    unread: Unread,
    /// An application that reads at a rate, not all that there is.
    reader: Option<Box<Reader>>,
    application: Application,
    gro: Gro,
    delay: AckDelay,
    /// Form that ACKs have in common, with the timestamp to echo; see `form` of the sender.
    form: Segment,
    buffer: ReceiveBuffer,
    echo: Echo,
    /// Counters of AccECN while this end offers or uses it, else `None`.
    accecn: Option<Box<Counts>>,
    /// True if the congestion control needs AccECN, so that this end does not fall back to RFC 3168.
    accurate_only: bool,
    counters: ReceiverCounters,
    clock: Clock,
    rtt: RttEstimates,
    /// Segments that came before a missing one.
    early: OutOfOrder,
    compression: Compression,
    closing: Closing,
    opening: Opening,
    kernel: Kernel,
    layout: Layout,
    /// The end that this half belongs to also sends.
    stream: Option<Stream>,
    answers: Answers,
    /// Time at which a sized transfer was complete.
    pub completed: Option<Time>,
}

impl Receiver {
    /// A listening receiver; a congestion control that `needs` ECN (DCTCP) sets ECT on ACKs and runs its machine here.
    #[must_use]
    pub fn new(flow: u32, source: usize, spec: &TcpSpec, stack: &Stack, needs: &Needs) -> Self {
        let clock = Clock::of(stack);
        let layout = Layout::of(spec);
        let buffer = ReceiveBuffer::of(spec, stack, layout.mss());
        let sce = spec.sce_echo.then_some(stack.sce_echo_variant);
        let handshake = if needs.ecn { spec.codepoint() } else { Ecn::NotEct };
        Self {
            rcv_nxt: 1,
            fast_path: FastPath::default(),
            established: false,
            pushed: false,
            pushed_again: false,
            ack_now: false,
            unread: Unread::default(),
            reader: spec.host.reads_bps.map(|rate_bps| Box::new(Reader::new(rate_bps))),
            application: Application::default(),
            gro: Gro::new(spec.gro),
            delay: AckDelay::new(source, &clock, stack),
            form: Segment {
                way: Way::new(flow),
                len: ACK_FRAME as u16,
                seq: 1,
                window: 0,
                tsval: 0,
                tsecr: 0,
                attachment: NO_ATTACHMENT,
                flags: Direction::Reverse.flags() | handshake.flags(),
            },
            buffer,
            echo: Echo::new(spec.codepoint(), needs.ecn && !needs.accecn, sce, stack.dctcp_sce_latch)
                .accurate(spec.accecn.is_some()),
            accecn: Counts::of(spec, handshake),
            accurate_only: needs.accecn,
            counters: ReceiverCounters::default(),
            clock,
            rtt: RttEstimates {
                syn_ack_us: 0,
                srtt_us: 0,
                srtt: 0,
                rto: clock.from_ms(1000),
                rto_min_us: u64::from(stack.rto_min_ms) * 1000,
            },
            early: OutOfOrder::new(most_blocks(spec.sack, spec.timestamps)),
            compression: Compression::new(source + 1, stack, spec.sack),
            // Nothing is missing any more when this timer is needed, so that no ACKs are merged.
            closing: Closing::new(source + 1, stack),
            opening: Opening::new(source + 1, stack, &clock),
            kernel: Kernel {
                acks_full_push: stack.ack_full_push,
                quick_acks_out_of_order: stack.quick_acks_out_of_order,
                // Without SACK the window stays, so that the sender can tell duplicate ACKs (`tcp_data_queue_ofo`).
                widens_out_of_order: stack.widen_out_of_order && spec.sack,
                charges_in_order: stack.ack_before_read,
                returns_memory: stack.returns_memory,
                ignores_old_acks: stack.ignore_old_acks,
                tunes_by_arrival: stack.tune_by_arrival,
                cost: Cost::of(stack, layout.mss()),
            },
            layout,
            stream: None,
            answers: Answers::new(stack),
            completed: None,
        }
    }

    /// For packets that do not come from the memory of a sender's socket: each lies in one fragment, and has so much room in its head, bytes.
    #[must_use]
    pub fn of_unfragmented(mut self, tailroom: u32) -> Self {
        self.kernel.cost = self.kernel.cost.unfragmented(tailroom);
        self
    }

    /// A segment arrives soon, and the receiver itself is loaded: loads ahead what else it may touch.
    pub fn prefetch_ranges(&self) {
        self.early.prefetch();
    }

    /// Counters.
    #[must_use]
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// Payload read in order by the application, bytes.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        if let Some(reader) = &self.reader {
            return reader.read;
        }
        self.stream.as_ref().map_or(0, |stream| stream.base) + self.bytes_of_data(self.rcv_nxt)
    }

    /// A packet of the sender arrives.
    pub fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.counters.arrived += 1;
        if self.takes_fast_path(p) && out.is_last_now() {
            self.on_fast_data(p, out);
        } else if self.established && !p.has(flags::SYN | flags::HANDSHAKE | flags::CLOSED) {
            self.on_data(p, out);
        } else if p.has(flags::CLOSED) {
            self.on_fin_acknowledged(p, out);
        } else {
            self.on_handshake(p, out);
        }
    }

    /// Shift of the windows that it advertises.
    #[must_use]
    pub fn window_scale(&self) -> u8 {
        self.buffer.scale()
    }

    #[inline]
    fn ack_packet(&self, ack: u32, window: u32, now: Time) -> Segment {
        Segment { seq: ack, window, tsval: (now / MS) as u32, ..self.form }
    }

    /// Sends an ACK for `ack`; one for an older point than `rcv_nxt` is special: it leaves timer and quick ACKs alone.
    fn send_ack(&mut self, ack: u32, out: &mut impl Outbox) {
        self.send_ack_stamped(ack, out.now(), out);
    }

    /// [`Self::send_ack`] with the timestamp of another time.
    fn send_ack_stamped(&mut self, ack: u32, stamp: Time, out: &mut impl Outbox) {
        let window = self.advertise();
        let mut p = self.ack_packet(ack, window, stamp);
        let blocks = self.early.take_blocks();
        if self.accecn.is_some() {
            self.tell_accurately(&mut p, blocks, out);
        } else {
            p.flags |= self.echo.take_flags();
            if let Some(blocks) = blocks {
                p.len += blocks.option_bytes() as u16;
                p.attachment = out.attach(blocks.into());
            }
        }
        self.counters.acks_sent += 1;
        self.compression.note_ack(out);
        if ack == self.rcv_nxt {
            self.pushed = false;
            self.pushed_again = false;
            self.ack_now = false;
            self.delay.note_ack();
        }
        out.send(End::Receiver, p);
    }

    fn request_quick(&mut self, most: u32) {
        let fit = match self.buffer.advertised() / (2 * self.buffer.seen_mss()) {
            0 => 2,
            fit => fit.min(u64::from(most)) as u32,
        };
        self.delay.grant_quick(fit.min(most));
    }

    /// Acknowledges at once for a while, whatever the spacing of the data.
    fn enter_quick(&mut self, most: u32) {
        self.request_quick(most);
        self.delay.leave_ping_pong();
        self.delay.reset();
    }

    fn on_data(&mut self, p: &Segment, out: &mut impl Outbox) {
        if is_bare(p) {
            self.count_codepoint(p, 0);
            return self.on_bare(p, out);
        }
        if self.gro.is_on() {
            self.count_codepoint(p, Self::payload_of(p));
            return self.on_data_to_merge(p, out);
        }
        if self.refuses(p) {
            return self.refuse(p.seq, p.seq + 1, out);
        }
        self.count_codepoint(p, Self::payload_of(p));
        self.layout.hear(p.seq, u32::from(p.len) - HEADERS);
        let before = self.rcv_nxt;
        self.take_timestamps(p, out.now());
        self.forget_duplicate_before(p);
        self.queue_data(p, out);
        if self.delay.is_scheduled() {
            self.check_ack(out);
        }
        if self.reader.is_some() {
            // The application reads when it is its turn.
            self.compression.look(out.now());
            return;
        }
        self.update_fast_path(p.ecn());
        // Where nothing is charged before it is read, the application reads what each packet brings while it is dealt with (prequeue).
        let reads_now = !self.kernel.charges_in_order || out.is_last_now();
        if reads_now && !self.application.waits {
            self.on_read(self.rcv_nxt > before, out);
            self.close_at_end(out);
        } else {
            self.application.some |= self.rcv_nxt > before;
            self.read_in_burst(reads_now, p.flow(), out);
        }
    }

    /// The sender has reduced its window, as a packet tells that has data or not (`tcp_ecn_accept_cwr`).
    #[cold]
    #[inline(never)]
    pub(super) fn take_cwr(&mut self, has_data: bool) {
        if self.accecn.is_none() {
            self.echo.on_cwr();
            self.ack_now |= has_data;
        }
    }

    /// Puts a segment into the receive queue, and notes what that means for an ACK.
    #[inline(always)]
    fn queue_data(&mut self, p: &Segment, out: &mut impl Outbox) {
        let seq = p.seq;
        if p.has(flags::CWR) {
            self.take_cwr(true);
        }
        match p.ecn() {
            Ecn::Ce => self.counters.ce += 1,
            Ecn::Ect1 if self.echo.takes_ect1_for_sce() => self.counters.sce += 1,
            _ => {}
        }
        if seq == self.rcv_nxt && !self.is_closed_to(p) {
            self.in_order(p, out);
        } else if seq > self.rcv_nxt && self.has_room_for(seq) {
            self.note_fin(p);
            if self.kernel.quick_acks_out_of_order {
                self.enter_quick(MAX_QUICK);
            }
            self.out_of_order(p, out);
        } else {
            // Old, or where the window ends.
            if seq < self.rcv_nxt {
                let end = self.end_of(p);
                self.early.report_duplicate(seq, end.min(self.rcv_nxt));
                if end > self.rcv_nxt && self.buffer.left(self.unacknowledged()) > 0 {
                    // The beginning came before, the rest is the next in order.
                    return self.in_order(p, out);
                }
                self.counters.duplicates += 1;
            }
            self.enter_quick(MAX_QUICK);
            self.delay.schedule();
        }
    }

    fn in_order(&mut self, p: &Segment, out: &mut impl Outbox) {
        let before = self.rcv_nxt;
        self.rcv_nxt = self.end_of(p);
        self.note_fin(p);
        if is_bare_fin(p) {
            self.queue(&Head::of(p.seq, self.rcv_nxt, 0));
        } else {
            self.take_in_order(p, before, out);
        }
        let (unread, cost, reader) = (&mut self.unread, &self.kernel.cost, &mut self.reader);
        let charges = self.kernel.charges_in_order;
        let closed = self.early.close_gap(self.rcv_nxt, cost, |head| match reader {
            Some(reader) => reader.add(head, cost),
            None if charges => unread.add_head(head, cost),
            None => {}
        });
        if let Some(end) = closed {
            if let Some(reader) = reader {
                unread.charged = reader.charged();
            }
            self.rcv_nxt = end;
            // A filled gap is acknowledged at once.
            self.ack_now |= self.early.is_empty();
        }
        if self.stream.is_none() && self.reader.is_none() && self.rcv_nxt >= self.layout.end() {
            self.completed.get_or_insert(out.now());
        }
        if self.closing.ends_at(self.rcv_nxt) {
            self.on_fin(out);
        }
        self.early.forget_below(self.rcv_nxt);
    }

    /// Takes in data in order. The edge has moved behind them already; it was at `before`.
    #[inline]
    fn take_in_order(&mut self, p: &Segment, before: u32, out: &mut impl Outbox) {
        let payload = u32::from(p.len) - HEADERS;
        self.queue(&Head::of(p.seq, self.rcv_nxt, payload));
        self.delay.schedule();
        self.measure(p);
        self.buffer.rtt_by_window(self.rcv_nxt, self.layout.mss(), out.now());
        self.time_delayed_ack(out.now());
        self.on_codepoint(p.ecn(), before, out);
        if payload >= WIDENING && self.buffer.grow(payload, true, self.charged()) {
            self.delay.grant_odd();
        }
    }

    /// ECN and SCE; `before` is what was expected before this segment.
    #[inline]
    fn on_codepoint(&mut self, ecn: Ecn, before: u32, out: &mut impl Outbox) {
        if !self.echo.expects(ecn) {
            self.on_news(ecn, before, out);
        }
    }

    fn on_news(&mut self, ecn: Ecn, before: u32, out: &mut impl Outbox) {
        let wish = self.echo.on_segment(ecn, self.delay.is_waiting(), before);
        if wish.special_ack {
            self.send_ack(wish.special_at.unwrap_or(before), out);
        }
        self.echo.after_special(ecn);
        self.ack_now |= wish.ack_now;
        if wish.quick > 1 {
            self.request_quick(wish.quick);
        } else {
            self.delay.grant_quick(wish.quick);
        }
        if wish.reset_interval {
            self.delay.reset();
            self.delay.leave_ping_pong();
        }
    }

    /// Decides whether to acknowledge now, later, or with others.
    #[inline(always)]
    fn check_ack(&mut self, out: &mut impl Outbox) {
        // If the window would shrink, the application sends the ACK when it has read. To ask for the window ends quick ACKs in a tight buffer.
        let full = self.is_more_than_one_full();
        if full {
            self.revoke_quick_if_tight();
        }
        let due = full && self.buffer.advances(self.charged());
        if due || (self.delay.quick() > 0 && !self.delay.in_ping_pong()) || self.ack_now {
            self.send_ack(self.rcv_nxt, out);
        } else if self.early.is_empty() {
            self.delay_ack(out);
        } else {
            self.compress_ack(out);
        }
    }

    /// The application reads what there is.
    #[inline(always)]
    fn on_read(&mut self, some: bool, out: &mut impl Outbox) {
        let unread = std::mem::take(&mut self.unread);
        // Segments out of order do not wake it, and only a read adapts the buffer (`tcp_rcv_space_adjust`).
        if some && self.buffer.is_to_tune(out.now()) {
            self.tune(unread.behind_first(), out.now());
        }
        // Otherwise nothing is acknowledged: what was read usually had its ACK before, and leaves the window as it is.
        let may_acknowledge = if some {
            self.pushed || !self.early.is_empty() || self.buffer.may_open_wide() || self.is_more_than_one_full()
        } else {
            self.delay.is_scheduled() && self.is_more_than_one_full()
        };
        if may_acknowledge || self.stream.is_some() {
            self.ack_after_read(some, out);
        }
    }

    /// Segments that are acknowledged when they were read: two that were not before, the end of a write of the sender's, and any data if reading
    /// opens the window wide, even if all of it is acknowledged (`__tcp_cleanup_rbuf`).
    fn ack_after_read(&mut self, some: bool, out: &mut impl Outbox) {
        let charged = self.charged();
        let write_ended = some && charged == 0 && self.is_write_to_acknowledge();
        let waits = self.delay.is_scheduled() && (self.is_more_than_one_full() || write_ended);
        if waits || (some && !self.closing.has_ended() && self.opens_wide()) {
            self.send_ack(self.rcv_nxt, out);
        }
    }
}
