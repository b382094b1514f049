//! Where the bytes of a flow lie in its segments: all are full, but the last of a transfer, and the first if the application's first
//! write is a short one that leaves at once, as the header that iperf 2 sends ahead of its data (24 bytes).

use crate::packet::MSS;
use crate::spec::TcpSpec;

/// The segments of a flow; number 0 is the SYN.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Payload of segment 1, bytes; and its number if it is short, else 0.
    first: u32,
    short: u32,
    /// Payload of the last segment, bytes.
    last: u32,
    /// First segment beyond the transfer; the largest number if there is no end.
    end: u32,
    /// Payload of the whole transfer, bytes.
    total: u64,
}

impl Layout {
    /// The segments of the described flow.
    #[must_use]
    pub fn of(spec: &TcpSpec) -> Self {
        let total = spec.transfer_bytes.unwrap_or(u64::MAX);
        let first = u64::from(spec.first_write_bytes.unwrap_or(MSS)).min(total);
        let rest = total - first;
        let segments = rest.div_ceil(u64::from(MSS));
        let last = if rest == 0 { first } else { rest - (segments - 1) * u64::from(MSS) };
        Self {
            first: first as u32,
            short: u32::from(first < u64::from(MSS)),
            last: last as u32,
            end: u32::try_from(segments.saturating_add(2)).unwrap_or(u32::MAX),
            total,
        }
    }

    /// First segment beyond the transfer; the largest number if there is no end.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Payload of the whole transfer, bytes; the largest number if there is no end.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Payload of a segment, bytes.
    #[inline]
    #[must_use]
    pub fn payload(&self, segment: u32) -> u32 {
        if segment == self.short {
            self.first
        } else if segment + 1 == self.end {
            self.last
        } else {
            MSS
        }
    }

    /// The first segment from `segment` on that may not be full.
    #[inline]
    #[must_use]
    pub fn next_short(&self, segment: u32) -> u32 {
        if segment <= self.short {
            self.short
        } else {
            self.end - 1
        }
    }

    /// Payload before a segment, bytes.
    #[inline]
    #[must_use]
    pub fn before(&self, segment: u32) -> u64 {
        match segment.checked_sub(2) {
            Some(full) => (u64::from(self.first) + u64::from(full) * u64::from(MSS)).min(self.total),
            None => 0,
        }
    }

    /// Payload of the segments `from..to`, bytes.
    #[inline]
    #[must_use]
    pub fn span(&self, from: u32, to: u32) -> u64 {
        self.before(to) - self.before(from)
    }

    /// True if the application's write ends with this segment, whatever comes after.
    #[inline]
    #[must_use]
    pub fn ends_first_write(&self, segment: u32) -> bool {
        segment == self.short
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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

    #[test]
    fn every_byte_is_in_one_segment() {
        for total in [1, 23, 24, 25, 1448, 1449, 2896, 24 + 1448, 24 + 1448 + 1, 100_000] {
            for first in [None, Some(24), Some(1447)] {
                let l = layout(Some(total), first);
                let sum: u64 = (1..l.end()).map(|s| u64::from(l.payload(s))).sum();
                assert_eq!((sum, l.before(1), l.before(l.end())), (total, 0, total), "{total} {first:?}");
                for s in 1..l.end() {
                    assert_eq!(l.span(s, s + 1), u64::from(l.payload(s)));
                    assert!(l.payload(s) > 0);
                    let short = (s..l.end()).find(|&s| l.payload(s) < MSS);
                    assert!(short.is_none_or(|short| l.next_short(s) <= short) && l.next_short(s) >= s);
                }
            }
        }
    }

    #[test]
    fn without_an_end_all_but_the_first_are_full() {
        let l = layout(None, Some(24));
        assert_eq!((l.payload(1), l.payload(2), l.payload(1 << 30)), (24, MSS, MSS));
        assert_eq!((l.before(3), l.end()), (24 + u64::from(MSS), u32::MAX));
        assert!(l.ends_first_write(1) && !l.ends_first_write(2));
        assert!(!layout(None, None).ends_first_write(1));
    }
}
