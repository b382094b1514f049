//! Two ends that both send, over a path that only takes time.

use crate::attachment::{Attachment, Blocks};
use crate::cc::{AnyCc, Needs, Reno};
use crate::outbox::LoneOutbox;
use crate::outbox::{HostQueue, Outbox};
use crate::packet::{Direction, Way, ACK_FRAME, HEADERS, NO_ATTACHMENT};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::two_way::{TwoWayEnd, SOURCES};
use crate::time::{Time, MS, SEC};

/// One way, ns.
const DELAY: Time = 10 * MS;
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// The client opens; packets arrive in the order in which they left.
struct Pair {
    out: LoneOutbox,
    ends: [TwoWayEnd; 2],
    under_way: Vec<(Time, Segment)>,
    /// Arrivals: when, ms, at which end, and their payload, bytes.
    arrived: Vec<(u64, usize, u32)>,
    /// Bytes that each end has read.
    read: [u64; 2],
}

impl Pair {
    /// Established, and nothing is under way.
    fn new() -> Self {
        Self::with(false)
    }

    /// The same with or without `TCP_NODELAY`.
    fn with(nodelay: bool) -> Self {
        let mut spec = bulk_flow();
        spec.host.nodelay = nodelay;
        Self::of(&spec)
    }

    /// Ends of this description.
    fn of(spec: &TcpSpec) -> Self {
        let mut pair = Self::closed(spec, false);
        pair.ends[CLIENT].open(&mut pair.out);
        pair.run_until(100 * MS, &mut |_, _| 0);
        assert!(pair.ends.iter().all(TwoWayEnd::is_established));
        pair.arrived.clear();
        pair
    }

    /// Closed ends, both of which open if `crossed`.
    fn closed(spec: &TcpSpec, crossed: bool) -> Self {
        let stack = Stack::from_spec(&spec.stack).unwrap();
        let end = |which: usize| {
            let cc = AnyCc::Reno(Reno);
            TwoWayEnd::new(
                0,
                which * SOURCES,
                spec,
                &stack,
                cc,
                Needs::default(),
                which == CLIENT,
                crossed || which == CLIENT,
            )
        };
        let ends = [end(CLIENT), end(SERVER)];
        Self { out: LoneOutbox::new(2 * SOURCES), ends, under_way: vec![], arrived: vec![], read: [0; 2] }
    }

    fn write(&mut self, end: usize, bytes: u64) {
        self.ends[end].write(bytes, &mut self.out);
        self.collect();
    }

    fn collect(&mut self) {
        let at = self.out.now + DELAY;
        self.under_way.extend(self.out.take_sent().into_iter().map(|p| (at, p)));
    }

    /// Lets time pass. `answer` says how many bytes an end writes that has read so many.
    fn run_until(&mut self, until: Time, answer: &mut dyn FnMut(usize, u64) -> u64) {
        loop {
            self.collect();
            let arrival = self.under_way.first().map(|(at, _)| *at);
            let timer = self.out.next_timer();
            let next = arrival.into_iter().chain(timer.map(|(at, _)| at)).min().filter(|&at| at <= until);
            let Some(now) = next else { break };
            self.out.now = now;
            if arrival == Some(now) {
                let (_, p) = self.under_way.remove(0);
                let to = if p.is_reverse() { CLIENT } else { SERVER };
                let payload = if p.has(flags::SYN) { 0 } else { u32::from(p.len).saturating_sub(HEADERS) };
                self.arrived.push((now / MS, to, payload));
                let read = self.ends[to].on_packet(&p, &mut self.out);
                if read > self.read[to] {
                    self.read[to] = read;
                    let bytes = answer(to, read);
                    if bytes > 0 {
                        self.ends[to].write(bytes, &mut self.out);
                    }
                }
            } else if let Some((_, source)) = timer {
                self.ends[source / SOURCES].on_timer(source % SOURCES, &mut self.out);
            }
        }
        self.out.now = until;
    }
}

#[test]
fn ends_that_open_at_once_answer_each_others_syn_and_report_the_syn_of_the_syn_ack_as_a_duplicate() {
    let mut pair = Pair::closed(&bulk_flow(), true);
    for end in [CLIENT, SERVER] {
        pair.ends[end].open(&mut pair.out);
        pair.collect();
    }
    let mut sent = vec![];
    for _ in 0..3 {
        let packets = std::mem::take(&mut pair.under_way);
        for (at, p) in packets.into_iter().filter(|(_, p)| !p.is_reverse()) {
            let attachment = pair.out.take_attachment(p.attachment);
            let (other_seq, blocks) = (attachment.second(), *attachment.blocks());
            sent.push((p.has(flags::SYN), p.seq, other_seq, blocks.as_slice().to_vec()));
            // The other end's packet is the same the other way round.
            let attachment = pair.out.attach(Attachment::Second { seq: p.seq, blocks });
            let mut mirrored = Segment { seq: other_seq, attachment, ..p };
            mirrored.set_direction(Direction::Reverse);
            pair.out.now = at;
            pair.ends[CLIENT].on_packet(&mirrored, &mut pair.out);
            pair.collect();
        }
    }
    let nothing = vec![];
    assert_eq!(sent, [(true, 0, 0, nothing.clone()), (true, 0, 1, nothing), (false, 1, 1, vec![(0, 1)])]);
    assert!(pair.ends[CLIENT].is_established());
}

#[test]
fn acks_ride_on_data_once_both_ends_take_turns() {
    let mut pair = Pair::new();
    pair.write(CLIENT, 100);
    // The client asks four times in all, and the server answers each time.
    pair.run_until(400 * MS, &mut |end, read| if end == SERVER { 300 } else { u64::from(read < 4 * 300) * 100 });
    let first = [(110, SERVER, 100), (120, CLIENT, 0), (120, CLIENT, 300), (130, SERVER, 0), (130, SERVER, 100)];
    let then = [(140, CLIENT, 300), (150, SERVER, 100), (160, CLIENT, 300), (170, SERVER, 100), (180, CLIENT, 300)];
    assert_eq!(pair.arrived[..5], first, "the first data of each end are acknowledged at once");
    assert_eq!(pair.arrived[5..10], then, "then nothing but data moves");
    // Nobody asks again: the last ACK comes when it has waited for 40 ms, a tick and its way.
    assert_eq!(pair.arrived[10..], [(231, SERVER, 0)]);
    assert_eq!(pair.read, [1200, 400]);
}

#[test]
fn an_ack_that_waited_in_vain_ends_the_taking_of_turns() {
    let mut pair = Pair::new();
    pair.write(CLIENT, 100);
    pair.run_until(400 * MS, &mut |end, read| u64::from(end == SERVER && read == 100) * 300);
    pair.arrived.clear();
    // The server has answered once and does not do so again.
    let silent = &mut |_: usize, _: u64| 0;
    pair.write(CLIENT, 100);
    pair.run_until(600 * MS, silent);
    pair.write(CLIENT, 100);
    pair.run_until(700 * MS, silent);
    let acks: Vec<_> = pair.arrived.iter().filter(|(_, end, _)| *end == CLIENT).map(|(at, ..)| *at).collect();
    assert_eq!(acks, [461, 620], "40 ms after the first, at once after the second");
}

#[test]
fn a_second_short_segment_waits_for_the_first_and_takes_what_is_written_meanwhile() {
    let mut pair = Pair::new();
    for bytes in [100, 70, 50] {
        pair.write(CLIENT, bytes);
    }
    pair.write(CLIENT, 1);
    pair.run_until(400 * MS, &mut |_, _| 0);
    let data: Vec<_> = pair.arrived.iter().filter(|(.., payload)| *payload > 0).copied().collect();
    assert_eq!(data, [(110, SERVER, 100), (130, SERVER, 121)]);
    let mut eager = Pair::with(true);
    [100, 70, 51].into_iter().for_each(|bytes| eager.write(CLIENT, bytes));
    eager.run_until(400 * MS, &mut |_, _| 0);
    let data: Vec<_> = eager.arrived.iter().filter(|(.., payload)| *payload > 0).copied().collect();
    assert_eq!(data, [(110, SERVER, 100), (110, SERVER, 70), (110, SERVER, 51)], "with TCP_NODELAY nothing waits");
    // Full segments do not wait.
    pair.arrived.clear();
    pair.write(CLIENT, 100);
    pair.write(CLIENT, 3 * 1448 + 5);
    pair.run_until(800 * MS, &mut |_, _| 0);
    let data: Vec<_> = pair.arrived.iter().filter(|(.., payload)| *payload > 0).copied().collect();
    let full = (410, SERVER, 1448);
    assert_eq!(data, [(410, SERVER, 100), full, full, full, (430, SERVER, 5)]);
    assert_eq!(pair.read[SERVER], 221 + 100 + 3 * 1448 + 5);
}

#[test]
fn a_packet_without_data_has_a_timestamp_to_echo() {
    let mut pair = Pair::new();
    pair.write(CLIENT, 20 * 1448);
    pair.run_until(400 * MS, &mut |_, _| 0);
    // Nothing but ACKs came to the client, the last of them after 130 ms.
    assert!(pair.ends[CLIENT].receiver().echoed() > 120);
    pair.ends[CLIENT].write(100, &mut pair.out);
    let sent = pair.out.take_sent();
    assert_eq!(sent.iter().map(|p| p.tsecr).collect::<Vec<_>>(), [pair.ends[CLIENT].receiver().echoed()]);
}

#[test]
fn a_packet_of_long_ago_is_dropped_whole() {
    let mut pair = Pair::new();
    pair.write(CLIENT, 3 * 1448);
    pair.run_until(400 * MS, &mut |_, _| 0);
    // Data of the server's reach the client, whose data take the ACK along.
    pair.ends[SERVER].write(1448, &mut pair.out);
    let [data] = pair.out.take_sent()[..] else { panic!() };
    pair.ends[CLIENT].on_packet(&data, &mut pair.out);
    pair.out.take_sent();
    pair.ends[CLIENT].write(2 * 1448, &mut pair.out);
    let [first, second] = pair.out.take_sent()[..] else { panic!() };
    let echoed = pair.ends[SERVER].receiver().echoed();
    let read = pair.ends[SERVER].on_packet(&Segment { tsval: echoed - 2, ..first }, &mut pair.out);
    let sender = &pair.ends[SERVER].sender().view;
    assert_eq!((read, sender.snd_una, sender.snd_nxt), (3 * 1448, 1, 2), "neither its data nor its ACK count");
    assert_eq!(pair.out.take_sent().len(), 1, "a duplicate ACK answers");
    pair.ends[SERVER].on_packet(&Segment { tsval: echoed - 1, ..second }, &mut pair.out);
    assert_eq!(pair.ends[SERVER].sender().view.snd_una, 2, "a millisecond less, and its ACK counts");
}

#[test]
fn what_is_put_on_the_hosts_account_is_taken_off_it_and_nothing_else() {
    let mut pair = Pair::new();
    pair.ends[CLIENT].on_host_with_queue(HostQueue::Charges);
    let leave = |pair: &mut Pair| {
        for p in pair.out.take_sent() {
            let attachment = pair.out.take_attachment(p.attachment);
            pair.ends[CLIENT].on_left_host(&p, &attachment);
        }
        pair.ends[CLIENT].sender().small_queue.is_empty()
    };
    pair.ends[CLIENT].write(3000, &mut pair.out);
    assert!(!pair.ends[CLIENT].sender().small_queue.is_empty());
    assert!(leave(&mut pair), "three segments");
    // The second of two segments is missing, so that the ACK has a block.
    pair.ends[SERVER].write(3 * 1448, &mut pair.out);
    let [first, _, third] = pair.out.take_sent()[..] else { panic!() };
    for p in [first, third] {
        pair.ends[CLIENT].on_packet(&p, &mut pair.out);
    }
    assert!(leave(&mut pair), "ACKs were not on it");
    pair.ends[CLIENT].close(&mut pair.out);
    assert!(!pair.ends[CLIENT].sender().small_queue.is_empty(), "a FIN without data");
    assert!(leave(&mut pair));
}

/// A packet of an end as the other one gets it: its own number and the one that it acknowledges, its payload and its blocks.
fn on_wire(pair: &mut Pair, p: &Segment) -> (u32, u32, u32, Vec<(u32, u32)>) {
    let attachment = pair.out.attachments.get(p.attachment);
    let blocks = attachment.blocks();
    let (seq, ack) = if p.is_reverse() { (attachment.second(), p.seq) } else { (p.seq, attachment.second()) };
    (seq, ack, u32::from(p.len) - HEADERS - blocks.option_bytes(), blocks.as_slice().to_vec())
}

#[test]
fn blocks_beside_data_take_room_and_cut_segments_that_are_sent_again() {
    let mut pair = Pair::new();
    pair.write(CLIENT, 2 * 1448);
    let [first, _] = pair.under_way.drain(..).map(|(_, p)| p).collect::<Vec<_>>()[..] else { panic!() };
    // The second of three segments of the server's is missing at the client.
    pair.ends[SERVER].write(3 * 1448, &mut pair.out);
    let [one, _, three] = pair.out.take_sent()[..] else { panic!() };
    for p in [one, three] {
        pair.ends[CLIENT].on_packet(&p, &mut pair.out);
    }
    pair.out.take_sent();
    let missing = vec![(2897, 4345)];
    pair.write(CLIENT, 2000);
    let data: Vec<_> = pair.under_way.drain(..).map(|(_, p)| p).collect();
    let told: Vec<_> = data.iter().map(|p| on_wire(&mut pair, p)).collect();
    assert_eq!(told, [(2897, 1449, 1436, missing.clone()), (4333, 1449, 564, missing.clone())]);
    // The server hears of the gap from data.
    pair.ends[SERVER].on_packet(&first, &mut pair.out);
    pair.ends[SERVER].on_packet(&data[0], &mut pair.out);
    assert_eq!(pair.ends[SERVER].sender().view.sacked_out, 1);
    pair.out.take_sent();
    // Nothing is acknowledged: the first segment is retransmitted, in two.
    let nxt = pair.ends[CLIENT].sender().view.snd_nxt;
    let mut again = vec![];
    while again.is_empty() {
        again = pair.out.take_sent().iter().map(|p| on_wire(&mut pair, p)).filter(|(seq, ..)| *seq == 1).collect();
        let (at, source) = (0..SOURCES).map(|source| (pair.out.timer(source), source)).min().unwrap();
        pair.out.now = at;
        pair.ends[CLIENT].on_timer(source, &mut pair.out);
    }
    assert_eq!(again, [(1, 1449, 1436, missing)]);
    assert_eq!(pair.ends[CLIENT].sender().view.snd_nxt, nxt + 1, "the rest is a segment of its own");
}

#[test]
fn short_segments_are_sent_again_as_one() {
    let mut pair = Pair::with(true);
    [100, 200, 300].into_iter().for_each(|bytes| pair.write(CLIENT, bytes));
    pair.under_way.clear();
    // A loss probe sends the last one again, a timeout all.
    let mut again = vec![];
    while pair.out.now < 1000 * MS {
        let (at, source) = pair.out.next_timer().unwrap();
        pair.out.now = at;
        pair.ends[source / SOURCES].on_timer(source % SOURCES, &mut pair.out);
        again.extend(pair.out.take_sent().iter().map(|p| on_wire(&mut pair, p)).map(|(seq, _, bytes, _)| (seq, bytes)));
    }
    assert_eq!(again[..2], [(301, 300), (1, 600)]);
    assert_eq!(pair.ends[CLIENT].sender().view.packets_out, 1);
}

#[test]
fn what_was_sent_again_with_more_is_taken_for_the_rest() {
    let mut pair = Pair::with(true);
    [100, 200].into_iter().for_each(|bytes| pair.write(CLIENT, bytes));
    let [(_, first), (_, second)] = pair.under_way.drain(..).collect::<Vec<_>>()[..] else { panic!() };
    let both = Segment { len: (HEADERS + 300) as u16, ..first };
    let attachment = pair.out.attachments.get(first.attachment);
    pair.ends[SERVER].on_packet(&first, &mut pair.out);
    pair.out.take_sent();
    let mut again = both;
    again.attachment = pair.out.attach(attachment);
    assert_eq!(pair.ends[SERVER].on_packet(&again, &mut pair.out), 300);
    let acks: Vec<_> = pair.out.take_sent().iter().map(|p| on_wire(&mut pair, p)).collect();
    assert_eq!(acks, [(1, 301, 0, vec![(1, 101)])], "what came twice is told");
    assert_eq!(pair.ends[SERVER].on_packet(&second, &mut pair.out), 300);
}

#[test]
fn data_are_what_was_expected_only_where_a_page_in_use_has_room_for_them() {
    // Returns how many ACKs the server takes in beside 10 segments, while it waits for the ACK of so many bytes.
    let heard = |charged: u64| {
        let mut pair = Pair::new();
        if charged > 0 {
            pair.write(SERVER, charged);
        }
        let before = pair.ends[SERVER].sender().counters.acks_arrived;
        pair.write(CLIENT, 10 * 1448);
        pair.run_until(115 * MS, &mut |_, _| 0);
        assert_eq!(pair.read[SERVER], 10 * 1448);
        pair.ends[SERVER].sender().counters.acks_arrived - before
    };
    assert_eq!(heard(0), 10, "memory is asked for each time");
    assert_eq!(heard(100), 0, "2280 bytes fit beside 932");
    assert_eq!(heard(1448), 10, "and do not fit beside as many");
}

#[test]
fn a_stream_goes_on_beyond_the_numbers_of_the_wire() {
    // The receiving half takes 2 GiB off its numbers at 3 and at 5 GiB; on the wire they wrap at 4 GiB.
    const BYTES: u64 = 11 << 29;
    let mut pair = Pair::of(&TcpSpec { segment_bytes: 60_000, ..bulk_flow() });
    pair.write(CLIENT, BYTES);
    let mut lost = 0;
    while pair.read[SERVER] < BYTES && pair.out.now < 1000 * SEC {
        // A segment of each GiB is lost.
        let data = pair.under_way.iter().position(|(_, p)| u32::from(p.len) > HEADERS);
        if let Some(at) = data.filter(|_| pair.read[SERVER] >> 30 >= lost) {
            pair.under_way.remove(at);
            lost += 1;
        }
        pair.run_until(pair.out.now + DELAY, &mut |_, _| 0);
        pair.arrived.clear();
    }
    assert_eq!(pair.read[SERVER], BYTES);
    assert_eq!(pair.ends[CLIENT].sender().counters.retransmits, lost);
}

/// Both ends have sent their FINs, the client first.
fn closed() -> Pair {
    let mut pair = Pair::new();
    pair.ends[CLIENT].close(&mut pair.out);
    pair.run_until(pair.out.now + 15 * MS, &mut |_, _| 0);
    pair.ends[SERVER].close(&mut pair.out);
    pair.run_until(pair.out.now + 100 * MS, &mut |_, _| 0);
    pair.arrived.clear();
    pair
}

/// Takes what an end sends at once when it hears this packet, which came with nothing else.
fn answers(pair: &mut Pair, to: usize, p: Segment) -> Vec<Segment> {
    let mut p = p;
    p.attachment = pair.out.attach(Attachment::Second { seq: 2, blocks: Blocks::default() });
    pair.ends[to].on_packet(&p, &mut pair.out);
    pair.out.take_sent()
}

/// A packet without data to an end, with the number 2 behind the FIN.
fn bare(to: usize, flags: u16) -> Segment {
    let direction = if to == CLIENT { Direction::Reverse.flags() } else { 0 };
    Segment {
        way: Way::new(0),
        len: ACK_FRAME as u16,
        flags: flags | direction,
        seq: 2,
        window: 10_000,
        tsval: 1000,
        tsecr: 0,
        attachment: NO_ATTACHMENT,
    }
}

#[test]
fn the_end_that_closed_first_waits_and_answers_and_the_other_knows_the_connection_no_more() {
    let mut pair = closed();
    assert!(answers(&mut pair, CLIENT, bare(CLIENT, 0)).is_empty(), "an ACK of what was sent");
    let again = answers(&mut pair, CLIENT, bare(CLIENT, flags::FIN));
    assert_eq!(again.iter().map(|p| p.flags & (flags::RST | flags::FIN)).collect::<Vec<_>>(), [0]);
    let reset = answers(&mut pair, SERVER, bare(SERVER, 0));
    assert_eq!(reset.iter().map(|p| (p.has(flags::RST), p.window, p.tsval)).collect::<Vec<_>>(), [(true, 0, 0)]);
    assert!(answers(&mut pair, SERVER, bare(SERVER, flags::RST)).is_empty(), "an RST is never answered by one");
}

#[test]
fn an_rst_ends_a_connection_if_its_number_is_the_one_expected() {
    let mut pair = Pair::new();
    let challenged = answers(&mut pair, CLIENT, bare(CLIENT, flags::RST));
    assert_eq!(challenged.iter().map(|p| p.has(flags::RST)).collect::<Vec<_>>(), [false], "a challenge ACK");
    assert!(pair.ends[CLIENT].is_established());
    pair.ends[SERVER].reset(&mut pair.out);
    pair.run_until(pair.out.now + 100 * MS, &mut |_, _| 0);
    assert!(pair.ends.iter().all(|end| !end.is_established()));
    assert_eq!(pair.arrived.len(), 1, "nobody answers");
}

#[test]
fn a_socket_that_its_application_closes_resets_what_it_has_not_read_and_what_comes_later() {
    let mut pair = Pair::new();
    pair.ends[CLIENT].stop_reading();
    pair.write(SERVER, 1000);
    pair.run_until(pair.out.now + 100 * MS, &mut |_, _| 0);
    pair.ends[CLIENT].quit(&mut pair.out);
    let sent = pair.out.take_sent();
    assert_eq!(sent.iter().map(|p| p.has(flags::RST)).collect::<Vec<_>>(), [true], "1000 bytes were not read");

    let mut pair = Pair::new();
    pair.ends[CLIENT].quit(&mut pair.out);
    pair.run_until(pair.out.now + 100 * MS, &mut |_, _| 0);
    assert!(pair.ends[SERVER].is_established(), "a FIN");
    pair.write(SERVER, 1000);
    pair.run_until(pair.out.now + 100 * MS, &mut |_, _| 0);
    assert!(!pair.ends[SERVER].is_established(), "nobody reads that");
}
