//! Congestion signals in the IP and TCP headers of one end: RFC 3168, AccECN (RFC 9768), SCE.

use crate::packet::{flags, Packet};

/// Bits of the TCP header that AccECN makes a counter of: AE, CWR, ECE from the highest down.
const ACE: u16 = flags::NS | flags::CWR | flags::ECE;
/// First value of the counter (RFC 9768, section 3.2.1).
const ACE_BEGINS: u8 = 5;

/// Marks and echoes in the packets of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn {
    /// Packets marked ECT(0).
    pub ect0: u64,
    /// Packets marked ECT(1): SCE marked them, or the sender uses L4S.
    pub ect1: u64,
    /// Packets marked CE.
    pub ce: u64,
    /// Packets with ECE that are no SYN, if the bits are no counter.
    pub ece: u64,
    /// Packets with CWR that are no SYN, if the bits are no counter.
    pub cwr: u64,
    /// Packets with AE (which echoes SCE) that are no SYN, if the bits are no counter.
    pub ae: u64,
    /// CE marks that the AccECN counter of this end's packets reports.
    pub ace: u64,
    /// Bytes that the AccECN option of this end's packets reports: with ECT(1), CE and ECT(0).
    pub bytes: Option<[u64; 3]>,
    /// The counter in the latest packet.
    counter: Option<u8>,
    /// The option's counters as last seen: ECT(1), CE, ECT(0).
    fields: [u32; 3],
}

/// Agreement of the ends on AccECN, by their SYNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agreement {
    #[default]
    Unknown,
    Offered,
    Accurate,
}

impl Agreement {
    /// Take in a SYN. An answer accepts with a code for the SYN's marking (RFC 9768, table 2); 001 is RFC 3168.
    pub fn syn(&mut self, p: &Packet) {
        *self = match (*self, p.has(flags::ACK), ace(p)) {
            (_, false, 7) => Self::Offered,
            (_, false, _) => Self::Unknown,
            (Self::Offered | Self::Accurate, true, 2 | 3 | 4 | 6) => Self::Accurate,
            (_, true, _) => Self::Unknown,
        };
    }
}

/// Initial values of the option's counters: ECT(1), CE, ECT(0).
const FIELDS_BEGIN: [u32; 3] = [1, 0, 1];

fn ace(p: &Packet) -> u8 {
    let bit = |flag, value| if p.has(flag) { value } else { 0 };
    bit(flags::NS, 4) | bit(flags::CWR, 2) | bit(flags::ECE, 1)
}

impl Ecn {
    /// Take in the AccECN option of a packet. Its counters have 24 bits.
    fn count_bytes(&mut self, p: &Packet) {
        let Some(option) = &p.counters else { return };
        let places = if option.ect0_first { [2, 1, 0] } else { [0, 1, 2] };
        if self.bytes.is_none() {
            self.fields = FIELDS_BEGIN;
        }
        let bytes = self.bytes.get_or_insert_default();
        for (place, field) in places.into_iter().zip(option.fields) {
            let Some(field) = field else { break };
            let news = field.wrapping_sub(self.fields[place]) & 0x00ff_ffff;
            // More than half of the range is a counter that went back.
            if news < 1 << 23 {
                bytes[place] += u64::from(news);
                self.fields[place] = field;
            }
        }
    }

    /// Takes in a packet of this end. `handshake`: it is the ACK of the other's SYN and has no data, so that its counter says how that was
    /// marked; `stale`: it is older than the latest.
    pub fn add(&mut self, p: &Packet, agreement: Agreement, handshake: bool, stale: bool) {
        match p.ecn {
            1 => self.ect1 += 1,
            2 => self.ect0 += 1,
            3 => self.ce += 1,
            _ => {}
        }
        if p.has(flags::SYN) || p.flags & ACE == 0 && agreement != Agreement::Accurate {
            return;
        }
        if agreement == Agreement::Accurate {
            if !handshake && !stale && p.has(flags::ACK) {
                let now = ace(p);
                self.ace += u64::from(now.wrapping_sub(self.counter.unwrap_or(ACE_BEGINS)) & 7);
                self.counter = Some(now);
                self.count_bytes(p);
            }
            return;
        }
        self.ece += u64::from(p.has(flags::ECE));
        self.cwr += u64::from(p.has(flags::CWR));
        self.ae += u64::from(p.has(flags::NS));
    }
}
