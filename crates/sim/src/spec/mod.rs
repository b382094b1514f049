//! The plain-data description of a run that the simulator is given: the plan, which Python makes of a scenario. Everything in it is
//! resolved (numbers in ns, bit/s, bytes and packets), nothing is defaulted by context. Entries of a list are referred to by their
//! position.

mod change;
mod distribution;
mod faults;
mod host;
mod port;
mod qdisc;
mod series;
mod workload;

pub use change::{ChangeSpec, IMPAIRMENTS};
pub use distribution::{DistributionSpec, DrawnSpec, PartSpec};
pub use faults::{Chance, FaultsSpec, JitterShape, JitterSpec, LossSpec, ReorderSpec, ShareSpec};
pub use host::{Direction, HostSpec, PathSpec, Side, NETWORK};
pub use port::{PartOfRtt, PortSpec, ShaperSpec, DELAY, DIRECTIONS, MOST_DELAY_NS, STAGES};
pub use qdisc::*;
pub use series::{EventKind, SeriesSpec};
pub use workload::*;

use serde::{Deserialize, Serialize};

/// The format of the description that is read.
pub const FORMAT: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// [`FORMAT`].
    pub format: u32,
    /// Seed of every random stream.
    pub seed: u64,
    /// End of the run, ns.
    pub duration_ns: u64,
    /// Interval of the samples, ns; 0 switches sampling off.
    pub sample_ns: u64,
    /// Note every packet at both hosts.
    pub capture: bool,
    /// Lists of ports: the packets that come out of the ports of a list are noted, each list in a capture of its own.
    #[serde(default)]
    pub captured_ports: Vec<Vec<usize>>,
    /// The largest IP packet that every port carries, bytes.
    #[serde(default = "ethernet_mtu")]
    pub mtu_bytes: u32,
    /// Sources and destinations of data.
    pub hosts: Vec<HostSpec>,
    /// The ports.
    pub ports: Vec<PortSpec>,
    /// The ways between the sides.
    pub paths: Vec<PathSpec>,
    /// The traffic. Of simultaneous events, those of bulk connections come first, then those of the other traffic that exists from the
    /// start, in this order.
    pub workloads: Vec<WorkloadSpec>,
    /// Changes of the ports.
    pub schedule: Vec<ChangeSpec>,
    /// The entities that get series; `None`: every TCP connection and every port.
    #[serde(default)]
    pub series: Option<SeriesSpec>,
}

/// The MTU of Ethernet without jumbo frames.
fn ethernet_mtu() -> u32 {
    1500
}

impl NetworkSpec {
    /// Packets are noted, wherever that is.
    #[must_use]
    pub fn captures(&self) -> bool {
        self.capture || !self.captured_ports.is_empty()
    }

    /// Every bulk connection, with the index of its workload.
    pub fn connections(&self) -> impl Iterator<Item = (usize, &TcpSpec, &ConnectionSpec)> {
        self.workloads.iter().enumerate().flat_map(|(i, workload)| {
            let tcp = match workload {
                WorkloadSpec::Tcp(tcp) => Some(tcp),
                _ => None,
            };
            tcp.into_iter().flat_map(move |tcp| tcp.connections.iter().map(move |each| (i, tcp, each)))
        })
    }

    /// Every workload that is not of bulk connections, with its index.
    pub fn others(&self) -> impl Iterator<Item = (usize, &WorkloadSpec)> {
        self.workloads.iter().enumerate().filter(|(_, workload)| !matches!(workload, WorkloadSpec::Tcp(_)))
    }

    /// Everything that these have from the start of the run, each with its workload.
    pub fn listed(&self) -> impl Iterator<Item = (&WorkloadSpec, &ConnectionSpec)> {
        self.others()
            .flat_map(|(_, workload)| workload.listed().unwrap_or(&[]).iter().map(move |each| (workload, each)))
    }

    /// Return every workload that makes connections during the run, with its index and the settings that its connections share.
    pub fn making(&self) -> impl Iterator<Item = (usize, &TcpSpec)> {
        self.others().filter(|(_, workload)| workload.listed().is_none()).filter_map(|(i, each)| Some((i, each.tcp()?)))
    }
}
