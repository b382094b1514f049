//! Where a workload is built, and what is checked of all kinds.

use crate::cc::CustomControl;
use crate::packet::MSS;
use crate::refusal::Flaws;
use crate::spec::{Heading, HostSettings, NetworkSpec};

/// Makes a congestion control by name.
pub type Controls = dyn Fn(&str) -> Option<Box<dyn CustomControl>>;

/// Largest transfer, bytes: sequence numbers count segments in 32 bits.
pub const MAX_TRANSFER: u64 = (u32::MAX as u64 - 2) * MSS as u64;
/// Least socket buffer, bytes: two segments and what the kernel charges for them.
const MIN_BUFFER: u64 = 4608;
/// Largest socket buffer, bytes: an `int` of Linux, which is what SO_RCVBUF, SO_SNDBUF (twice the half of it) and the sysctls come to.
const MAX_BUFFER: u64 = i32::MAX as u64;

/// Where a workload is built.
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
    /// Refuses a path and hosts that there are not.
    ///
    /// # Errors
    /// Those that there are not.
    pub fn check(&self, heading: Heading) -> Result<(), Flaws> {
        let (hosts, paths) = (self.network.hosts.len(), self.network.paths.len());
        let from = Flaws::position("from", heading.from, "host", hosts);
        let ends = Flaws::both(from, Flaws::position("to", heading.to, "host", hosts));
        Flaws::both(Flaws::position("path", heading.path, "path", paths), ends).map(|_| ())
    }
}

/// Refuses socket buffers without room, and those that Linux has no number for.
pub(super) fn check_buffers(host: &HostSettings, flaws: &mut Flaws) {
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
}

/// An error without flaws, which [`check_buffers`] finds, where no socket can be made with the buffers: its sizes would overflow.
pub(super) fn has_buffers(host: &HostSettings) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    check_buffers(host, &mut flaws);
    flaws.done().map_err(|_| Flaws::default())
}
