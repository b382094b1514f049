//! RTT at one capture point: the time from a data segment to the ACK whose acknowledgment number is the end of that segment, as the RTT
//! samples of tcptrace 6 (rexmit.c). Segments sent more than once give no sample (Karn's algorithm).
//!
//! Captured at the sender, a sample is the RTT of the whole path. It includes the receiver's delayed-ACK timeout if the segment was
//! acknowledged alone. If one ACK covers two segments, only the second gives a sample.

use std::collections::VecDeque;

use crate::connection::covers;
use crate::packet::{before, Endpoint, Packet};

/// An RTT sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time that the sample belongs to, ns.
    pub time_ns: i64,
    /// The RTT, ns.
    pub rtt_ns: i64,
}

/// RTT samples of the data that `source` sent. `packets` are all packets of one connection, of both directions.
#[must_use]
pub fn rtt(packets: &[Packet], source: Endpoint) -> Vec<Sample> {
    // Outstanding segments in order of sequence: (end, time sent, whether it is ambiguous).
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
                // After a retransmission, an ACK for this or a later segment may answer either copy.
                let from = p.seq;
                outstanding.iter_mut().filter(|s| before(from, s.0)).for_each(|s| s.2 = true);
            }
            continue;
        }
        while let Some(&(end, sent_ns, ambiguous)) = outstanding.front() {
            if !covers(p, end) {
                break;
            }
            outstanding.pop_front();
            if p.ack == end && !ambiguous {
                samples.push(Sample { time_ns: p.time_ns, rtt_ns: p.time_ns - sent_ns });
            }
        }
    }
    samples
}
