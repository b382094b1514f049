//! Captures that are made to be slow or large: none costs more than its share. Alone in its process, since it limits the heap.

mod common;

use std::fs;
use std::net::IpAddr;

use cap::Cap;
use common::{file, frame, read};
use dumbbell_trace::packet::{flags, Packet};
use dumbbell_trace::{spp, Analysis};

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Runs `f`; ends the process if the heap grows by more than `most` bytes.
fn within(most: usize, f: impl FnOnce()) {
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + most).unwrap();
    f();
    ALLOCATOR.set_limit(usize::MAX).unwrap();
}

/// CPU time of this process so far, in ticks of the kernel.
fn cpu_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn analysis(packets: impl Iterator<Item = Packet>) -> Analysis {
    let mut found = Analysis::default();
    packets.for_each(|p| _ = found.add(&p));
    found
}

/// A power of two, so that no vector has spare room.
const CONNECTIONS: u32 = 1 << 16;
const PACKETS: u32 = 50_000;

/// The sequence number of the n-th segment.
type Order = fn(u32) -> u32;

/// Orders that make careless data structures slow.
const ORDERS: [(&str, Order); 13] = [
    ("in order", |n| n),
    ("backwards", |n| PACKETS - n),
    ("backwards with holes", |n| 2 * (PACKETS - n)),
    ("holes", |n| 2 * n),
    ("holes, then filled backwards", |n| if n < PACKETS / 2 { 2 * n } else { 2 * (PACKETS - n) - 1 }),
    ("all the same", |_| 7),
    ("each one twice", |n| n / 2),
    ("half in flight, then the newest again and again", |n| n.min(PACKETS / 2)),
    ("half in flight, then the oldest again and again", |n| if n < PACKETS / 2 { n } else { 0 }),
    ("in flight, every second one again", |n| if n % 2 == 0 { n } else { n - 1 }),
    ("holes at random", |n| n.wrapping_mul(0x9e37_79b1) >> 8),
    ("half the sequence space ahead each time", |n| n.wrapping_mul((1 << 31) - 1)),
    ("wrapping around", |n| n.wrapping_mul(1 << 20)),
];

#[test]
fn no_capture_costs_more_than_its_share_of_time_and_memory() {
    let data = read(&file(&[frame(0, 0, 0, flags::ACK, 1, true)])).unwrap().packets[0];
    let mut in_order = None;
    for (name, seq) in ORDERS {
        // Every 100 segments there is an ACK of the first.
        let packets = (0..PACKETS).map(|n| match n % 100 {
            99 => Packet { source: data.destination, destination: data.source, ack: 1, payload: 0, ..data },
            _ => Packet { seq: seq(n), time_ns: i64::from(n), ..data },
        });
        println!("{name}");
        let begun = cpu_ticks();
        within(100 * PACKETS as usize, || {
            let found = analysis(packets.clone());
            assert_eq!(found.connection(0).forward.volume.data_packets, u64::from(PACKETS) / 100 * 99);
        });
        within(300 * PACKETS as usize, || {
            let (mut near, mut far) = (spp::Point::default(), spp::Point::default());
            packets.clone().for_each(|p| near.add(&p));
            packets.for_each(|p| far.add(&Packet { time_ns: p.time_ns + 1, ..p }));
            let _ = spp::between(near, far, false);
        });
        // The time is compared with this machine's time for packets in order: a quadratic algorithm takes thousands of times as long.
        let took = cpu_ticks() - begun;
        let most = 50 * *in_order.get_or_insert(took.max(1));
        assert!(took < most, "{name}: {took} ticks; expected less than {most}");
    }
    // Connections of an exchange each: both ends send a segment that is acknowledged.
    let before = ALLOCATOR.allocated();
    let found = analysis((0..CONNECTIONS).flat_map(|n| {
        let client = (data.source.0, n as u16);
        let server = (IpAddr::from([10, 3, (n >> 24) as u8, (n >> 16) as u8]), 80);
        let request = Packet { source: client, destination: server, ..data };
        let answer = Packet { source: server, destination: client, ack: 1, ..data };
        [request, answer, Packet { ack: 1, seq: 1, payload: 0, ..request }]
    }));
    assert_eq!(
        (found.len(), found.connection(7).forward.answers.rtt.count, found.connection(7).reverse.answers.rtt.count,),
        (CONNECTIONS as usize, 1, 1)
    );
    let each = (ALLOCATOR.allocated() - before) / CONNECTIONS as usize;
    assert!(each < 2000, "{each} bytes for a connection");
}
