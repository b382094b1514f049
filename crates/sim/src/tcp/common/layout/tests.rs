//! The answers of a layout compared with lists of payloads.

use super::*;
use crate::packet::MSS;
use proptest::prelude::*;

fn layout(total: Option<u64>, first: Option<u32>) -> Layout {
    let mut spec = crate::tcp::common::layout::tests::bulk_flow();
    (spec.transfer_bytes, spec.first_write_bytes) = (total, first);
    Layout::of(&spec)
}

/// One reno flow of Linux 6.12 without ECN and TSO, its buffers as Linux sets them.
pub(crate) fn bulk_flow() -> TcpSpec {
    let host = serde_json::json!({
        "tso": false, "rmem": [4096, 131_072, 6_291_456], "rcvbuf": null,
        "wmem": [4096, 16384, 4_194_304], "sndbuf": null, "cached_ssthresh": null,
    });
    serde_json::from_value(serde_json::json!({
        "id": "f", "path": 0, "from": 0, "to": 1, "direction": "forward", "opener": "from", "cc": {"kind": "reno"},
        "stack": {"name": "linux-6.12", "options": {}}, "host": host, "ecn": false, "sce_echo": false,
        "transfer_bytes": null, "first_write_bytes": null, "connections": [],
    }))
    .unwrap()
}

/// Every question about the segments `from..end` has the answer that their payloads give.
fn check(l: &Layout, from: u32, payloads: &[u32], before: u64) {
    let mut bytes = before;
    for (segment, &payload) in (from..).zip(payloads) {
        assert_eq!((l.before(segment), l.payload(segment)), (bytes, payload), "segment {segment} of {l:?}");
        let next = payloads[(segment - from) as usize..].iter().position(|&p| p < l.mss());
        let next = if l.is_stream() { segment } else { next.map_or(NONE, |n| segment + n as u32) };
        assert_eq!(l.next_short(segment), next, "after {segment} of {l:?}");
        for into in [0, payload / 2, payload.saturating_sub(1)].into_iter().filter(|_| payload > 0) {
            assert_eq!(l.find(bytes + u64::from(into)), segment, "{bytes} of {l:?}");
        }
        bytes += u64::from(payload);
        assert_eq!(l.span(segment, segment + 1), u64::from(payload));
    }
    let end = from + payloads.len() as u32;
    assert_eq!((l.end(), l.total(), l.find(bytes)), (end, bytes, end));
}

#[test]
fn every_byte_is_in_one_segment() {
    for total in [1, 23, 24, 25, 1448, 1449, 2896, 24 + 1448, 24 + 1448 + 1, 100_000] {
        for first in [None, Some(24), Some(1447)] {
            let l = layout(Some(total), first);
            let begin = first.map_or(0, |first| u64::from(first).min(total));
            let rest = total - begin;
            let mut payloads = vec![MSS; (rest / u64::from(MSS)) as usize];
            payloads.extend(Some((rest % u64::from(MSS)) as u32).filter(|&rest| rest > 0));
            payloads.splice(0..0, Some(begin as u32).filter(|&begin| begin > 0));
            check(&l, 1, &payloads, 0);
        }
    }
}

#[test]
fn without_an_end_all_but_the_first_are_full() {
    let l = layout(None, Some(24));
    assert_eq!((l.payload(1), l.payload(2), l.payload(1 << 30)), (24, MSS, MSS));
    assert_eq!((l.before(3), l.end(), l.total()), (24 + u64::from(MSS), u32::MAX, u64::MAX));
    assert!(l.ends_first_write(1) && !l.ends_first_write(2));
    assert!(!layout(None, None).ends_first_write(1));
    assert!(layout(Some(1000), None).ends_first_write(1) && !layout(Some(1448), None).ends_first_write(1));
}

proptest! {
    /// Segments that are cut apart and filled up, against a list of payloads.
    #[test]
    fn segments_move_when_others_are_cut_or_filled_up(
        mss in 2..20_u32,
        writes in prop::collection::vec(1..60_u64, 1..10),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 1..20_u32, any::<bool>()), 1..40),
    ) {
        let (mut l, mut payloads) = (Layout::stream(mss), Vec::<u32>::new());
        for bytes in writes {
            l.append(bytes, l.end());
            payloads.extend(vec![mss; (bytes / u64::from(mss)) as usize]);
            payloads.extend(Some((bytes % u64::from(mss)) as u32).filter(|&rest| rest > 0));
        }
        for (at, bytes, cuts) in steps {
            let at = at.index(payloads.len());
            if cuts && bytes < payloads[at] {
                l.cut(at as u32 + 1, bytes);
                payloads.splice(at..=at, [bytes, payloads[at] - bytes]);
            } else if !cuts && at + 1 < payloads.len() && payloads[at] < mss {
                let both = payloads[at] + payloads[at + 1];
                let left = [both.min(mss), both.saturating_sub(mss)].into_iter().filter(|&part| part > 0);
                payloads.splice(at..at + 2, left.clone());
                assert_eq!(l.fill_up(at as u32 + 1, mss), left.count() as u32);
            }
            check(&l, 1, &payloads, 0);
        }
    }

    /// Segments of a transfer that end early, and what a receiver makes of them in any order.
    #[test]
    fn what_ended_early_moves_the_rest(
        total in 1..400_u64,
        cuts in prop::collection::vec((0..4_u32, 1..20_u32), 0..8),
        bare: bool,
        order in any::<prop::sample::Index>(),
    ) {
        const SMALL: u32 = 20;
        let transfer = || {
            let mut l = Layout { is_stream: false, ..Layout::stream(SMALL) };
            l.append(total, 1);
            l
        };
        let (mut l, mut next) = (transfer(), 1);
        if bare {
            l.append_bare();
        }
        for (skipped, payload) in cuts {
            next += skipped;
            if next < l.end() && payload < l.payload(next) {
                l.end_early(next, payload);
                next += 1;
            }
        }
        let payloads: Vec<u32> = (1..l.end()).map(|segment| l.payload(segment)).collect();
        prop_assert_eq!(payloads.iter().map(|&p| u64::from(p)).sum::<u64>(), total);
        prop_assert_eq!(payloads.ends_with(&[0]), bare);
        check(&l, 1, &payloads, 0);
        let data = &payloads[..payloads.len() - usize::from(bare)];
        let mut peer = transfer();
        let first = order.index(data.len());
        for at in (first..data.len()).chain(0..=first) {
            peer.hear(at as u32 + 1, data[at]);
        }
        check(&peer, 1, data, 0);
    }

    /// Writes of any size, sent at any time, against a list of payloads; and what the peer makes of the segments in any order.
    #[test]
    fn a_stream_is_what_its_writes_make_of_it(
        mss in 2..20_u32,
        steps in prop::collection::vec((1..60_u64, 0..5_u32, 0..4_u32), 1..40),
        order in any::<prop::sample::Index>(),
    ) {
        let (mut l, mut payloads) = (Layout::stream(mss), Vec::<u32>::new());
        let (mut sent, mut acked) = (0_usize, 0_usize);
        for (bytes, sends, acks) in steps {
            let mut left = bytes;
            if payloads.len() > sent {
                if let Some(last) = payloads.last_mut() {
                    let more = left.min(u64::from(mss - *last));
                    *last += more as u32;
                    left -= more;
                }
            }
            while left > 0 {
                payloads.push(left.min(u64::from(mss)) as u32);
                left -= left.min(u64::from(mss));
            }
            l.append(bytes, sent as u32 + 1);
            sent = (sent + sends as usize).min(payloads.len());
            acked = (acked + acks as usize).min(sent);
            l.forget(acked as u32 + 1);
            let before = payloads[..acked].iter().map(|&p| u64::from(p)).sum();
            check(&l, acked as u32 + 1, &payloads[acked..], before);
        }
        let mut peer = Layout::stream(mss);
        let first = order.index(payloads.len());
        for at in (first..payloads.len()).chain(0..=first) {
            peer.note(at as u32 + 1, payloads[at]);
        }
        check(&peer, 1, &payloads, 0);
    }
}
