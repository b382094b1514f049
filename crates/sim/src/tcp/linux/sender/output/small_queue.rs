//! TCP small queues: how much of a connection may lie in its host's own queue (Linux 6.12 net/ipv4/tcp_output.c, `tcp_small_queue_check`,
//! `tcp_wfree`, `tcp_tsq_write`, `skb_still_in_host_queue`; a fixed limit: Linux 3.9 `tcp_write_xmit`; what is orphaned: net/core/sock.c
//! `skb_orphan_partial`).
//!
//! A packet is on the account of its connection (`sk_wmem_alloc`) until it leaves the host. What the send buffer is charged
//! (`sk_wmem_queued`) is another account, which only an ACK gives back, so that leaving the host gives the application no room.
//! A netem takes packets off the account when they come, as if they had left, so that it never holds anything back; but they keep
//! their socket, and what still lies there is not retransmitted.
//!
//! Without such a queue the device takes what was sent when the packet or the timer that let it be sent is dealt with, and at once what a process
//! sends, as softirqs do not interrupt each other. Of a stream, and of skbs, this is noticed: a small one behind full ones waits, takes in what follows
//! it, and goes after what is retransmitted.
//!
//! A probe of a closed window is on the account, too (`tcp_xmit_probe_skb`): it takes what a segment without payload does.
//!
//! Leaves out: SYNs and pure ACKs on the account, what a SYN that the queue refuses does to the window, the attempts that the application's
//! writes make one by one into a queue that refuses them, waking a sender that waits when the queue refuses its retransmission, refusing to
//! retransmit beyond 5/4 of what the send buffer holds, waking a sender that found what it would retransmit in a netem when it sends something else:
//! the ACK that let that be sent has tried just before.

use std::collections::VecDeque;

use crate::cc::Renumbering;
use crate::outbox::{HostQueue, Outbox};
use crate::packet::HEADERS;
use crate::segment::{flags, Segment};
use crate::tcp::linux::options::SmallQueues;
use crate::tcp::linux::sender::Sender;

/// A millisecond at the pacing rate (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Bytes that the account holds when nothing is sent.
const EMPTY: u64 = 1;

/// Packets of a connection that lie in its host's own queue, or before its device. Told of every packet that the queue takes and of every one that leaves it;
/// asked before each one is sent. Without such a queue that of a transfer stays empty and is never asked.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp::linux) struct SmallQueue {
    /// Kind of the queue.
    kind: HostQueue,
    /// It is asked.
    is_asked: bool,
    /// A process sends, not a softirq.
    in_process: bool,
    /// On the account, bytes.
    allocated: u64,
    /// Something was held back since the last packet left.
    throttled: bool,
    /// The segments that lie there, in the order sent. Those cut from a TSO segment are not noted: by then TCP's own copy is free.
    segments: VecDeque<u32>,
    /// The numbers of the probes that lie there: pure ACKs are no longer than these.
    probes: Vec<u32>,
}

impl SmallQueue {
    /// An empty one; of skbs it is asked.
    pub fn new(has_skbs: bool) -> Self {
        Self { is_asked: has_skbs, ..Self::default() }
    }

    /// There is such a queue.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.kind != HostQueue::None
    }

    /// True if each segment is asked for its room there.
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// It is that of a stream, or of skbs, which notice what waits before the device.
    pub fn begin_to_ask(&mut self) {
        self.is_asked = true;
    }

    /// The device takes all there is; true if the sender waited for that.
    fn pass_to_device(&mut self) -> bool {
        self.allocated = 0;
        self.segments.clear();
        self.probes.clear();
        std::mem::take(&mut self.throttled)
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        self.segments.iter_mut().chain(&mut self.probes).for_each(|seq| r.apply(seq));
    }

    /// Segment `seq` lies there.
    pub fn holds(&self, seq: u32) -> bool {
        self.segments.contains(&seq)
    }

    /// Nothing of the connection is on the account.
    pub fn is_empty(&self) -> bool {
        self.allocated == 0
    }
}

impl Sender {
    /// Which queue the host has of its own. Said before [`Self::connect`].
    pub fn on_host_with_queue(&mut self, kind: HostQueue) {
        self.small_queue.kind = kind;
        let has = self.small_queue.is_on();
        self.small_queue.is_asked |= has;
        if has {
            self.sending = self.sending.in_steps();
        }
    }

    /// A packet of this sender has left the host's queue, sent on or dropped. True if the sender waited for that: then
    /// [`Self::on_room_in_host`] is due once all that left at the same time is told.
    pub fn on_left_host(&mut self, p: &Segment) -> bool {
        if p.has(flags::SYN | flags::HANDSHAKE | flags::CLOSED) {
            return false;
        }
        let payload = u32::from(p.len) - HEADERS;
        let charge = self.charge_of(u64::from(payload));
        let queue = &mut self.small_queue;
        if payload == 0 && !p.has(flags::FIN) {
            let Some(at) = queue.probes.iter().position(|&seq| seq == p.seq) else { return false };
            queue.probes.swap_remove(at);
        }
        if queue.kind == HostQueue::Charges {
            queue.allocated -= charge;
        }
        if let Some(at) = queue.segments.iter().position(|&seq| seq == p.seq) {
            queue.segments.remove(at);
        }
        std::mem::take(&mut queue.throttled) && queue.kind == HostQueue::Charges
    }

    /// There is room in the host's queue, and this sender waited for it.
    pub fn on_room_in_host(&mut self, out: &mut impl Outbox) {
        self.refresh(out.now());
        if self.stack.small_queues == SmallQueues::Rate && self.is_established() {
            self.retransmit_waiting(out);
        }
        self.write(out, false);
        self.update_fast_path();
    }

    /// A process calls, of whose packets the device takes each at once.
    pub(in crate::tcp::linux) fn in_process<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        self.small_queue.in_process = true;
        let result = call(self);
        self.small_queue.in_process = false;
        result
    }

    /// The packet or the timer is dealt with: where the host has no queue, its device takes what was sent, and what waited for that follows.
    #[inline]
    pub(in crate::tcp::linux) fn let_device_take(&mut self, out: &mut impl Outbox) {
        while !self.small_queue.is_on() && self.small_queue.pass_to_device() {
            let (next, allowed) = (self.view.snd_nxt, self.window.cwnd.saturating_sub(self.view.in_flight()));
            self.on_room_in_host(out);
            if self.view.snd_nxt > next {
                // Each segment that is sent looks for room in the buffer (`tcp_event_new_data_sent`, `tcp_check_space`).
                self.wake_application(allowed <= 1, out);
            }
        }
    }

    /// The host's queue, if there is one, has taken `count` segments from `seq` on.
    #[inline]
    pub(in crate::tcp::linux::sender) fn note_in_host(&mut self, seq: u32, count: u32) {
        if self.small_queue.is_asked {
            self.put_in_host(seq, count);
        }
    }

    #[inline(never)]
    fn put_in_host(&mut self, seq: u32, count: u32) {
        if self.small_queue.in_process && !self.small_queue.is_on() {
            return;
        }
        if self.small_queue.kind != HostQueue::Orphans {
            self.small_queue.allocated += u64::from(count) * self.charge_of(0) + self.layout.span(seq, seq + count);
        }
        if !self.tso.enabled {
            self.small_queue.segments.extend(seq..seq + count);
        }
    }

    /// The host's queue, if there is one, has taken the probe `seq`.
    pub(in crate::tcp::linux::sender) fn note_probe_in_host(&mut self, seq: u32) {
        if self.small_queue.is_on() {
            self.small_queue.probes.push(seq);
            if self.small_queue.kind == HostQueue::Charges {
                self.small_queue.allocated += self.charge_of(0);
            }
        }
    }

    /// True if the host's queue has no room for the new TSO segment of `n` segments that comes next.
    #[inline]
    pub(in crate::tcp::linux::sender) fn host_is_full_for_new(&mut self, n: u32) -> bool {
        if !self.small_queue.is_asked {
            return false;
        }
        let full = match self.stack.small_queues {
            SmallQueues::Off => false,
            SmallQueues::Fixed => EMPTY + self.small_queue.allocated >= u64::from(self.stack.output_limit_bytes),
            SmallQueues::Rate => self.is_above_rate_limit(self.view.snd_nxt, n, 0),
        };
        self.small_queue.throttled |= full;
        full
    }

    /// True if the host's queue has no room for segment `seq` again.
    #[inline]
    pub(in crate::tcp::linux) fn host_is_full_for(&mut self, seq: u32) -> bool {
        let full = self.small_queue.is_asked && self.stack.small_queues == SmallQueues::Rate && {
            let skb = self.skbs.around(seq).map_or(1, |skb| skb.end - seq);
            self.is_above_rate_limit(seq, skb, 1)
        };
        self.small_queue.throttled |= full;
        full
    }

    /// True if segment `seq` still lies in the host's queue, so that sending it again makes no sense.
    #[inline]
    pub(in crate::tcp::linux::sender) fn is_still_in_host(&mut self, seq: u32) -> bool {
        let inside =
            self.small_queue.is_asked && self.stack.small_queues == SmallQueues::Rate && self.small_queue.holds(seq);
        self.small_queue.throttled |= inside;
        inside
    }

    /// So many new segments go to a device before those that it has sent are freed: then small queues hold back the next one.
    pub(in crate::tcp::linux::sender) fn segments_at_once(&self) -> u32 {
        if self.stack.small_queues != SmallQueues::Rate {
            return u32::MAX;
        }
        let next = self.view.snd_nxt;
        self.rate_limit(next, 1).div_ceil(self.truesize(next, 1)) as u32
    }

    /// Bytes that may be on the account when a TSO segment of `n` segments from `seq` on is sent.
    fn rate_limit(&self, seq: u32, n: u32) -> u64 {
        let rate = self.window.pacing_rate >> PACING_SHIFT;
        let unlimited = self.view.is_paced && !self.stack.output_limit_paced;
        let most = if unlimited { u64::MAX } else { u64::from(self.stack.output_limit_bytes) };
        (2 * self.truesize(seq, n)).max(rate).min(most)
    }

    /// True if more is on the account than a TSO segment of `n` segments from `seq` on allows, `factor` times doubled. As long as hardly anything is
    /// outstanding nothing is held back: a host that is slow to free what it has sent must not stop it.
    #[inline(never)]
    fn is_above_rate_limit(&mut self, seq: u32, n: u32, factor: u32) -> bool {
        let limit = self.rate_limit(seq, n) << factor;
        let hardly_any = if self.stack.small_queues_spare_one { 1 } else { 0 };
        EMPTY + self.small_queue.allocated > limit && self.tso_segments_out_exceed(hardly_any)
    }

    /// True if more than `most` TSO segments, 0 or 1, are outstanding.
    fn tso_segments_out_exceed(&mut self, most: u32) -> bool {
        if !self.tso.enabled {
            return self.view.packets_out > most;
        }
        self.skbs.forget(self.view.snd_una);
        self.skbs.outstanding() > most as usize
    }

    /// Memory that a TSO segment of `n` segments from `seq` on takes, bytes.
    fn truesize(&self, seq: u32, n: u32) -> u64 {
        self.charge_of(self.layout.span(seq, seq + n))
    }

    /// Memory that a packet of `payload` bytes takes, bytes.
    fn charge_of(&self, payload: u64) -> u64 {
        u64::from(self.stack.send_head()) + payload
    }
}
