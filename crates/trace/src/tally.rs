//! Number of packets of a capture that were understood, and the reasons why the others were not.

/// Reason why a packet is not analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Another protocol over IP, e.g. UDP.
    OtherProtocol,
    /// Not IP, e.g. ARP.
    NotIp,
    /// A fragment of an IP packet.
    Fragment,
    /// Its interface has an unknown link type.
    LinkType,
    /// The captured bytes end before the IP header does.
    IpHeaderCut,
    /// The IP header contradicts itself.
    IpHeaderInvalid,
    /// The captured bytes end within the first 20 bytes of the TCP header.
    TcpHeaderCut,
    /// The TCP header contradicts itself or the length of the IP packet.
    TcpHeaderInvalid,
    /// Its record has no time, or one more than 146 years from 1970.
    NoTime,
}

impl LeftOut {
    /// Every reason, with its name in outputs.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::OtherProtocol, "other_protocol"),
        (Self::NotIp, "not_ip"),
        (Self::Fragment, "fragment"),
        (Self::LinkType, "link_type"),
        (Self::IpHeaderCut, "ip_header_cut"),
        (Self::IpHeaderInvalid, "ip_header_invalid"),
        (Self::TcpHeaderCut, "tcp_header_cut"),
        (Self::TcpHeaderInvalid, "tcp_header_invalid"),
        (Self::NoTime, "no_time"),
    ];
}

/// Counts of a capture's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// TCP packets that were analysed.
    pub tcp_packets: u64,
    /// The other packets, in the order of [`LeftOut::ALL`].
    left_out: [u64; LeftOut::ALL.len()],
    /// TCP packets whose options the capture does not hold as a whole (a small snap length); the rest of the packet is analysed.
    pub options_cut: u64,
    /// TCP packets whose options are no valid list; the rest of the packet is analysed.
    pub options_invalid: u64,
    /// TCP packets whose time is before that of the TCP packet in front of them: the capture's clock was set back, or several queues were
    /// captured at once.
    pub earlier_than_previous: u64,
    /// Time of the last packet that has one, TCP or not, ns since 1970.
    pub last_ns: Option<i64>,
    /// The file ends in the middle of a packet, after this many bytes. The packets before it are read.
    pub cut_short: Option<u64>,
    /// The damage of the file, and its place, for a message that begins with the file's name. The packets before it are read.
    pub damage: Option<String>,
}

impl Tally {
    /// Counts a packet that is not analysed.
    pub(crate) fn leave_out(&mut self, reason: LeftOut) {
        self.left_out[reason as usize] += 1;
    }

    /// Number of packets that were not analysed for this reason.
    #[must_use]
    pub fn left_out(&self, reason: LeftOut) -> u64 {
        self.left_out[reason as usize]
    }

    /// Number of packets that were not analysed.
    #[must_use]
    pub fn other_packets(&self) -> u64 {
        self.left_out.iter().sum()
    }
}
