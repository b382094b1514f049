//! RTT at one capture point: from a segment to the ACK that ends with it, segments that were sent more than once left out (Karn;
//! what tcptrace 6 calls its RTT samples, rexmit.c). At the sender this holds the whole path, and what the receiver held back an ACK for
//! a segment that stayed alone; the first of two, which waited for the second, gives no sample.

use std::collections::VecDeque;

use crate::connection::covers;
use crate::packet::{before, Packet};

/// An RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it is of, ns.
    pub time_ns: i64,
    /// The RTT, ns.
    pub rtt_ns: i64,
}

/// The samples of the data that `packets` from `source` carry; `packets` are those of one connection.
#[must_use]
pub fn rtt(packets: &[Packet], source: crate::packet::Endpoint) -> Vec<Sample> {
    // Outstanding segments in order: end, time, whether it was sent again.
    let mut outstanding: VecDeque<(u32, i64, bool)> = VecDeque::new();
    let mut top: Option<u32> = None;
    let mut samples = vec![];
    for p in packets {
        if p.source == source {
            if p.payload == 0 {
                continue;
            }
            if top.is_none_or(|top| !before(p.seq, top)) {
                outstanding.push_back((p.end(), p.time_ns, false));
                top = Some(p.end());
            } else {
                // What comes again says nothing, nor do the segments after it: an ACK may be of either.
                let from = p.seq;
                outstanding.iter_mut().filter(|s| before(from, s.0)).for_each(|s| s.2 = true);
            }
            continue;
        }
        while let Some(&(end, sent_ns, again)) = outstanding.front() {
            if !covers(p, end) {
                break;
            }
            outstanding.pop_front();
            if p.ack == end && !again {
                samples.push(Sample { time_ns: p.time_ns, rtt_ns: p.time_ns - sent_ns });
            }
        }
    }
    samples
}
