//! Places of a hash: cake's tables of queues and of hosts are eight-way set-associative.

/// Queues, and entries of each host table.
pub(super) const QUEUES: usize = 1024;
/// Places a hash may go to.
const WAYS: usize = 8;

/// The place of a hash in a set-associative table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// An entry with its tag.
    Mine(usize),
    /// A free entry; none has its tag.
    Free(usize),
    /// The entry it hashes to, in use by another.
    Shared(usize),
}

/// Looks `hash` up in its set of eight, starting at the entry it hashes to.
pub(super) fn associate(hash: u32, is_mine: impl Fn(usize) -> bool, is_free: impl Fn(usize) -> bool) -> Place {
    let direct = hash as usize % QUEUES;
    let set = direct - direct % WAYS;
    let mut ways = (0..WAYS).map(|way| set + (direct + way) % WAYS);
    if let Some(i) = ways.clone().find(|&i| is_mine(i)) {
        Place::Mine(i)
    } else if let Some(i) = ways.find(|&i| is_free(i)) {
        Place::Free(i)
    } else {
        Place::Shared(direct)
    }
}
