//! Loss recovery by counting, as Linux did it before RACK: what lies far enough below the highest SACKed segment is lost
//! (FACK; RFC 6675 once reordering was seen). ACK processing is in `ack`, the state machine in `alert`, marking and retransmission in
//! `marking`, timeouts in `frto`. Reference: Linux 3.9 net/ipv4/tcp_input.c, tcp_output.c; where options say so, 2.6.18 (CentOS 5), whose marking and
//! lost retransmissions are in `episode`.

mod ack;
mod alert;
mod episode;
mod frto;
mod marking;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_2006;

use self::episode::Walk;
use crate::cc::Renumbering;

/// State beside what all detections share.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct Fack {
    /// By distance; else by number.
    enabled: bool,
    /// No retransmission can be known as lost while nothing above this is SACKed.
    lost_retrans_low: u32,
    /// First segment beyond what was out when the timer fired that F-RTO examines.
    frto_highmark: Option<u32>,
    /// ACKs that F-RTO waits for have come: 1 none, 2 one; 0 if it is not at work.
    frto_step: u32,
    /// Where marking and the walk over what is out go on, in kernels that remember it.
    walk: Walk,
}

impl Fack {
    pub fn new(enabled: bool) -> Self {
        Self { enabled, lost_retrans_low: 0, frto_highmark: None, frto_step: 0, walk: Walk::default() }
    }

    /// The first retransmission goes out while `snd_nxt` is next.
    pub fn note_first_retransmission(&mut self, snd_nxt: u32) {
        self.lost_retrans_low = snd_nxt;
    }

    /// First segment beyond what F-RTO examines, if it does.
    pub fn frto_mark(&self) -> Option<u32> {
        self.frto_highmark
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        r.apply(&mut self.lost_retrans_low);
        self.frto_highmark.iter_mut().for_each(|mark| r.apply(mark));
        self.walk = Walk::default();
    }

    /// The network reorders: distance proves nothing any more.
    pub fn disable(&mut self) {
        self.enabled = false;
    }
}
