//! The place where a workload is built, and the checks that all kinds of traffic share.

use serde_json::{Map, Value};

use crate::cc::{find, BoxedControl, INFINITE_SSTHRESH};
use crate::packet::{ETHERNET, TIMESTAMPS};
use crate::refusal::Flaws;
use crate::segment::Options;
use crate::spec::{Heading, HostSettings, NetworkSpec, PortSpec, QdiscSpec, TcpSpec};

/// Makes a congestion control of the caller's own by its name and parameters, for each connection that asks for one; the flaws are of its
/// parameters.
pub type Controls = dyn Fn(&str, &Map<String, Value>) -> Option<Result<Box<dyn BoxedControl>, Flaws>>;

/// Most segments of a direction of a connection: sequence numbers count them in 32 bits.
pub const MOST_SEGMENTS: u64 = u32::MAX as u64 - 2;
/// Minimum payload of a full segment, bytes: with timestamps, the minimum of Linux (TCP_MIN_MSS).
pub(super) const LEAST_SEGMENT: u32 = 88 - TIMESTAMPS;
/// Largest DSCP: it has six bits.
const MOST_DSCP: u8 = 63;
/// Largest packet that a path carries, bytes.
pub const MOST_MTU: u32 = 9000;
/// Maximum response if the number of responses is not known beforehand, bytes: a run is over long before sequence numbers are used up.
pub const MAX_RESPONSE: u64 = 1 << 40;
/// Minimum socket buffer, bytes: two segments and the kernel's charge for them.
pub(super) const MIN_BUFFER: u64 = 4608;
/// Maximum socket buffer, bytes: an `int` of Linux, the type of SO_RCVBUF, SO_SNDBUF (twice the half of it) and the sysctls.
pub(super) const MAX_BUFFER: u64 = i32::MAX as u64;

/// The place where a workload is built.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The whole run.
    pub network: &'a NetworkSpec,
    /// Congestion controls of the caller's own.
    pub controls: &'a Controls,
    /// The workload's first index among all flows.
    pub index: u32,
    /// Its first event source.
    pub source: usize,
}

impl Site<'_> {
    /// Check that the path and the hosts exist, and that the DSCP fits its field.
    ///
    /// # Errors
    /// Those that do not exist or fit.
    pub fn check(&self, heading: Heading) -> Result<(), Flaws> {
        let mut flaws = Flaws::default();
        flaws.range("dscp", heading.dscp, "", 0..=MOST_DSCP);
        let (hosts, paths) = (self.network.hosts.len(), self.network.paths.len());
        let from = Flaws::position("from", heading.from, "host", hosts);
        let ends = Flaws::both(from, Flaws::position("to", heading.to, "host", hosts));
        if is_of_another_band(heading.dscp) && self.passes_fq(heading.path) {
            flaws.add(
                "dscp",
                format_args!("{} in a band of fq that is not modelled", heading.dscp),
                "another codepoint or qdisc",
            );
        }
        flaws.and(Flaws::both(Flaws::position("path", heading.path, "path", paths), ends)).map(|_| ())
    }

    /// Refuses a paced sender behind an fq of its own host, which would pace in its place, and all others as well.
    pub(super) fn check_pacing(&self, tcp: &TcpSpec, senders: &[usize], flaws: &mut Flaws) {
        let asked = find(&tcp.cc.kind).is_some_and(|control| control.needs.pacing);
        let is_fq = |&&host: &&usize| {
            let port = self.network.hosts.get(host).and_then(|host| self.network.ports.get(host.egress?));
            matches!(port, Some(PortSpec::Queue { qdisc: QdiscSpec::Fq(_), .. }))
        };
        if let Some(&host) = senders.iter().find(is_fq).filter(|_| asked || tcp.host.max_pacing_bps.is_some()) {
            let field = if asked { "cc.kind" } else { "host.max_pacing_bps" };
            let what = format_args!("a paced sender on {}, whose own queue is fq", self.network.hosts[host].id);
            flaws.add(field, what, "another queue on the host, or no pacing");
        }
    }

    /// A port of the path has the discipline fq.
    fn passes_fq(&self, path: usize) -> bool {
        let ports = self.network.paths.get(path).into_iter().flat_map(|path| path.forward.iter().chain(&path.reverse));
        let found = ports.filter_map(|&port| self.network.ports.get(port));
        found.into_iter().any(|port| matches!(port, PortSpec::Queue { qdisc: QdiscSpec::Fq(_), .. }))
    }
}

/// Most that a sender is paced at, bit/s: more than any path carries.
pub(super) const MOST_PACING: u64 = 1_000_000_000_000;

/// fq's band is decided by the priority that a router gives a packet by the low bits of its codepoint (Linux 6.12 net/ipv4/route.c
/// `ip_tos2prio`, net/sched/sch_fq.c `fq_prio2band`): true if it is not the second one, which all others belong to.
fn is_of_another_band(dscp: u8) -> bool {
    (2..=5).contains(&(dscp & 7))
}

/// Refuses segments that the path does not carry, and buffers that no socket has.
pub(super) fn check_ends(tcp: &TcpSpec, mtu: u32, flaws: &mut Flaws) {
    flaws.range("segment_bytes", tcp.segment_bytes, "bytes", LEAST_SEGMENT..=most_segment(mtu, tcp.options()));
    flaws.range("host.cached_ssthresh", tcp.host.cached_ssthresh.unwrap_or(2), "packets", 2..=INFINITE_SSTHRESH);
    flaws.range("host.max_pacing_bps", tcp.host.max_pacing_bps.unwrap_or(MOST_PACING), "bit/s", 8..=MOST_PACING);
    check_buffers(&tcp.host, flaws);
}

/// Payload of the largest segment of a path, bytes.
fn most_segment(mtu: u32, options: Options) -> u32 {
    mtu.min(MOST_MTU).saturating_sub(options.headers() - ETHERNET)
}

/// Check socket buffers. A buffer without room is an error, and so is one that Linux has no number for.
fn check_buffers(host: &HostSettings, flaws: &mut Flaws) {
    for (field, sizes) in [("host.rmem", host.rmem), ("host.wmem", host.wmem)] {
        flaws.at_most(field, sizes.into_iter().max().unwrap_or(0), "bytes", MAX_BUFFER);
    }
    let mut check = |field, size: Option<u64>, field_of_sysctl, sysctl| match size {
        Some(bytes) => {
            flaws.at_least(field, bytes, "bytes", MIN_BUFFER);
            flaws.at_most(field, bytes, "bytes", MAX_BUFFER);
        }
        None => flaws.at_least(field_of_sysctl, sysctl, "bytes", MIN_BUFFER),
    };
    check("host.rcvbuf", host.rcvbuf, "host.rmem", host.rmem[1].min(host.rmem[2]));
    check("host.sndbuf", host.sndbuf, "host.wmem", host.wmem[2]);
    if let Some(sizes) = host.sender_rmem {
        flaws.at_least("host.sender_rmem", sizes[1].min(sizes[2]), "bytes", MIN_BUFFER);
        flaws.at_most("host.sender_rmem", sizes.into_iter().max().unwrap_or(0), "bytes", MAX_BUFFER);
    }
}

/// An error without flaws, which [`check_ends`] finds, where no socket can be made with the segments and buffers: its sizes would overflow.
pub(super) fn can_be_made(tcp: &TcpSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    check_ends(tcp, MOST_MTU, &mut flaws);
    flaws.done().map_err(|_| Flaws::default())
}
