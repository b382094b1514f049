//! ECN at both ends (RFC 3168; tag releng/9.3 sys/netinet/tcp_input.c `tcp_do_segment`, tcp_output.c `tcp_output`, tcp_syncache.c;
//! `net.inet.tcp.ecn.*`). The first SYN and one retransmission of it (`ecn.maxretries`) offer ECN.
//!
//! A segment is ECN-capable if nothing is sent behind it: retransmissions by SACK leave with ECT(0), in contrast to RFC 3168, and those
//! after a timeout without.

use crate::packet::Ecn;
use crate::segment::{flags, Segment};

/// Retransmissions of a SYN that still offer ECN (`net.inet.tcp.ecn.maxretries`).
const MAX_RETRIES: usize = 1;

/// The sender's half.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    /// The host offers ECN.
    offers: bool,
    /// Both ends agreed (`TF_ECN_PERMIT`).
    permit: bool,
    /// The next packet says that the window was reduced (`TF_ECN_SND_CWR`).
    send_cwr: bool,
}

impl Sending {
    pub fn new(offers: bool) -> Self {
        Self { offers, ..Self::default() }
    }

    /// Flags of a SYN that was retransmitted so many times.
    pub fn offer(self, retries: usize) -> u16 {
        if self.offers && retries <= MAX_RETRIES {
            flags::ECN_SETUP
        } else {
            0
        }
    }

    /// The SYN-ACK arrives.
    pub fn on_syn_ack(&mut self, p: &Segment) {
        self.permit = self.offers && p.has(flags::ECE);
    }

    /// True if an ACK says that a segment arrived with a mark.
    pub fn is_echo(self, p: &Segment) -> bool {
        self.permit && p.has(flags::ECE)
    }

    /// The window was reduced.
    pub fn has_reduced(&mut self) {
        self.send_cwr = self.permit;
    }

    /// Writes what ECN has to say on a packet that leaves; `is_last`: it has data, and nothing was sent behind them.
    pub fn mark(&mut self, p: &mut Segment, is_last: bool) {
        if !self.permit {
            return;
        }
        if is_last {
            p.set_ecn(Ecn::Ect0);
        }
        if std::mem::take(&mut self.send_cwr) {
            p.flags |= flags::CWR;
        }
    }
}

/// The receiver's half.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echoing {
    accepts: bool,
    permit: bool,
    /// ACKs say that a mark arrived, until the sender says that it has reduced its window (`TF_ECN_SND_ECE`).
    send_ece: bool,
}

impl Echoing {
    pub fn new(accepts: bool) -> Self {
        Self { accepts, ..Self::default() }
    }

    /// Flags of the answer to a SYN.
    pub fn answer(&mut self, syn: &Segment) -> u16 {
        self.permit = self.accepts && syn.has(flags::ECN_SETUP);
        if self.permit {
            flags::ECE
        } else {
            0
        }
    }

    /// A packet arrives, valid or not.
    pub fn on_packet(&mut self, p: &Segment) {
        if !self.permit {
            return;
        }
        if p.has(flags::CWR) {
            self.send_ece = false;
        }
        if p.ecn() == Ecn::Ce {
            self.send_ece = true;
        }
    }

    /// Flags of an ACK.
    pub fn echo(self) -> u16 {
        if self.send_ece {
            flags::ECE
        } else {
            0
        }
    }
}
