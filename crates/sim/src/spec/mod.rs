//! The plain-data description of a run that the simulator is given: the plan, which Python makes of a scenario. Everything in it is
//! resolved (numbers in ns, bit/s, bytes and packets), nothing is defaulted by context. Entries of a list are referred to by their
//! position.

mod change;
mod host;
mod port;
mod qdisc;
mod series;
mod workload;

pub use change::ChangeSpec;
pub use host::{Direction, HostSpec, PathSpec, Side};
pub use port::{PortSpec, ShaperSpec};
pub use qdisc::*;
pub use series::SeriesSpec;
pub use workload::{
    ArrivalsSpec, CcSpec, ConnectionSpec, ExchangeSpec, HostSettings, Opener, StackSpec, TcpSpec, TransfersSpec,
    UdpSpec, WorkloadSpec,
};

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
    /// Where data come from and go to.
    pub hosts: Vec<HostSpec>,
    /// The ports.
    pub ports: Vec<PortSpec>,
    /// The ways between the sides.
    pub paths: Vec<PathSpec>,
    /// The traffic: all TCP first, then exchanges, then UDP, then transfers.
    pub workloads: Vec<WorkloadSpec>,
    /// What happens to the ports.
    pub schedule: Vec<ChangeSpec>,
    /// Which entities get series; if nothing is said, every TCP connection and every port.
    #[serde(default)]
    pub series: Option<SeriesSpec>,
}

impl NetworkSpec {
    /// Every TCP connection, with the index of its workload.
    pub fn connections(&self) -> impl Iterator<Item = (usize, &TcpSpec, &ConnectionSpec)> {
        self.workloads.iter().enumerate().flat_map(|(i, workload)| {
            let tcp = match workload {
                WorkloadSpec::Tcp(tcp) => Some(tcp),
                _ => None,
            };
            tcp.into_iter().flat_map(move |tcp| tcp.connections.iter().map(move |each| (i, tcp, each)))
        })
    }

    /// Every connection with requests and responses, with the index of its workload.
    pub fn exchanges(&self) -> impl Iterator<Item = (usize, &ExchangeSpec, &ConnectionSpec)> {
        self.workloads.iter().enumerate().flat_map(|(i, workload)| {
            let exchange = match workload {
                WorkloadSpec::Exchange(exchange) => Some(exchange),
                _ => None,
            };
            exchange.into_iter().flat_map(move |ours| ours.tcp.connections.iter().map(move |each| (i, ours, each)))
        })
    }

    /// Every stream of datagrams, with the index of its workload.
    pub fn streams(&self) -> impl Iterator<Item = (usize, &UdpSpec, &ConnectionSpec)> {
        self.workloads.iter().enumerate().flat_map(|(i, workload)| {
            let udp = match workload {
                WorkloadSpec::Udp(udp) => Some(udp),
                _ => None,
            };
            udp.into_iter().flat_map(move |udp| udp.streams.iter().map(move |each| (i, udp, each)))
        })
    }

    /// Every workload that makes connections while the run goes on, with its index.
    pub fn transfers(&self) -> impl Iterator<Item = (usize, &TransfersSpec)> {
        self.workloads.iter().enumerate().filter_map(|(i, workload)| match workload {
            WorkloadSpec::Transfers(transfers) => Some((i, transfers)),
            _ => None,
        })
    }
}
