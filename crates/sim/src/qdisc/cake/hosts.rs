//! Number of bulk flows of each host: the load that the dual and triple isolation modes divide a flow's quantum by.

use super::places::{associate, Place, QUEUES};

/// Hosts on one side (sources or destinations), set-associative like the queues.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    tags: Vec<u32>,
    bulk_flows: Vec<u16>,
}

impl Hosts {
    pub fn new() -> Self {
        Self { tags: vec![0; QUEUES], bulk_flows: vec![0; QUEUES] }
    }

    /// The entry of the host with this hash; one without bulk flows may be taken over.
    pub fn find(&mut self, hash: u32) -> u16 {
        let place = associate(hash, |i| self.tags[i] == hash, |i| self.bulk_flows[i] == 0);
        let (Place::Mine(i) | Place::Free(i) | Place::Shared(i)) = place;
        self.tags[i] = hash;
        i as u16
    }

    /// Bulk flows of a host.
    #[inline]
    pub fn load(&self, host: u16) -> u16 {
        self.bulk_flows[usize::from(host)]
    }

    /// A flow of the host became bulk.
    #[inline]
    pub fn add_bulk(&mut self, host: u16) {
        let flows = &mut self.bulk_flows[usize::from(host)];
        *flows = (*flows + 1).min(QUEUES as u16);
    }

    /// A flow of the host is bulk no longer.
    #[inline]
    pub fn remove_bulk(&mut self, host: u16) {
        let flows = &mut self.bulk_flows[usize::from(host)];
        *flows = flows.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::{Hosts, QUEUES};

    #[test]
    fn a_set_holds_eight_loaded_hosts() {
        let mut hosts = Hosts::new();
        let hash = |n: u32| 16 + n * QUEUES as u32;
        let entries: Vec<u16> = (1..=8)
            .map(|n| {
                let i = hosts.find(hash(n));
                hosts.add_bulk(i);
                i
            })
            .collect();
        let mut distinct = entries.clone();
        distinct.sort_unstable();
        assert_eq!(distinct, (16..24).collect::<Vec<u16>>());
        assert_eq!(hosts.find(hash(5)), entries[4]);
        // The ninth shares the entry it hashes to; a host without bulk flows gives its entry up.
        assert_eq!(hosts.find(hash(9)), 16);
        hosts.remove_bulk(entries[2]);
        assert_eq!(hosts.find(hash(10)), entries[2]);
    }

    #[test]
    fn load_counts_bulk_flows() {
        let mut hosts = Hosts::new();
        let i = hosts.find(77);
        assert_eq!(hosts.load(i), 0);
        hosts.remove_bulk(i);
        hosts.add_bulk(i);
        hosts.add_bulk(i);
        assert_eq!(hosts.load(i), 2);
        hosts.remove_bulk(i);
        assert_eq!(hosts.load(i), 1);
    }
}
