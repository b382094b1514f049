//! Applications that read at a rate: what they read, and that a window which they close opens again whatever gets lost.

mod common;

use common::{counter, dumbbell, flow, run, two_way, MS, SEC};
use dumbbell_sim::spec::{ChangeSpec, NetworkSpec, QdiscSpec, ShaperSpec, TcpSpec};
use proptest::prelude::*;

const RATE: u64 = 20_000_000;

fn world(reads_bps: u64, rcvbuf: u64, bytes: Option<u64>, seconds: u64) -> NetworkSpec {
    let mut f: TcpSpec = flow("f", "cubic", "linux-6.12");
    (f.host.reads_bps, f.host.rcvbuf, f.transfer_bytes) = (Some(reads_bps), Some(rcvbuf), bytes);
    let shaper = ShaperSpec::Tbf { rate_bps: RATE, burst_bytes: 1540 };
    dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, shaper, 40 * MS, seconds, vec![f])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_reads_its_rate_whatever_the_buffer(kbit in 20u64..8_000, rcvbuf in 9_000u64..400_000) {
        let out = run(&world(kbit * 1000, rcvbuf, None, 10));
        let (read, due) = (counter(&out, "flow/f", "rx_bytes"), kbit * 1000 / 8 * 10);
        // A window that is closed opens when at most a quarter of the buffer has been read; what that lets out is there after at most 60 ms, in
        // which a small buffer runs dry.
        let (opened, rate) = (rcvbuf / 4, kbit * 1000 / 8);
        let slowest = 10 * opened * rate / (opened + rate * 60 / 1000);
        prop_assert!(read <= due && read + 20_000 >= slowest * 9 / 10, "{read} of {due}");
        prop_assert_eq!(counter(&out, "flow/f", "dropped_packets"), 0);
    }

    #[test]
    fn a_transfer_is_complete_when_it_is_read(kbit in 200u64..40_000, bytes in 1u64..300_000) {
        let out = run(&world(kbit * 1000, 100_000, Some(bytes), 30));
        let taken = counter(&out, "flow/f", "completed_ns");
        prop_assert_eq!(counter(&out, "flow/f", "rx_bytes"), bytes);
        prop_assert!(taken >= bytes * 8 * SEC / (kbit * 1000) && taken.is_multiple_of(10 * MS), "{taken}");
    }
}

#[test]
fn an_ack_that_opens_the_window_may_get_lost() {
    // 16 kbit/s: a segment in 724 ms, so that the window opens now and then. All ACKs of 20 s are lost.
    let read_in = |seconds: u64| {
        let mut net = two_way(world(16_000, 20_000, None, seconds));
        net.schedule.push(ChangeSpec::Outage { port: 3, at_ns: 20 * SEC, for_ns: 20 * SEC });
        let out = run(&net);
        assert!(counter(&out, "port/bottleneck-reverse", "dropped_impairment") > 0);
        counter(&out, "flow/f", "rx_bytes")
    };
    // The probes come less and less often: the next one after the outage is at most as late as that was long.
    let after = read_in(160) - read_in(80);
    assert!((79 * 2000..=80 * 2000).contains(&after), "{after}: it goes on as if nothing had happened");
    assert!((30 * 2000..60 * 2000).contains(&read_in(80)), "{}", read_in(80));
}
