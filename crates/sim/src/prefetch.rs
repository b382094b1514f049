//! Loading ahead. Many flows, or very long queues, take more memory than the caches next to the processor hold, and the data that an event
//! needs was last touched thousands of packets ago: the processor would wait for memory several times an event. The simulator therefore
//! asks for the data of the next events while it handles the present one. No result depends on it.

use std::slice::from_ref;

use prefetch_index::prefetch_index;

/// Number of flows from which their state is loaded ahead. The state of fewer flows stays in the second-level cache.
pub const MANY_FLOWS: usize = 512;
/// Length from which the next packet of a list is loaded ahead. The packets of shorter lists stay in the first-level cache.
pub const LONG_QUEUE: u32 = 512;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Starts to load the cache line in which a value begins.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_index(from_ref(value), 0);
}

/// Starts to load the element `i` of a slice, of at most a cache line; `i` may be out of range.
#[inline(always)]
pub fn prefetch_element<T>(slice: &[T], i: usize) {
    prefetch_index(slice, i);
    // An element may begin in one line and end in the next, where the one after it begins.
    prefetch_index(slice, i.wrapping_add(1));
}

/// Starts to load `size` bytes of a struct from its byte `begin` on. `field` is a field of it, `offset` bytes from its beginning; both are
/// multiples of eight.
#[inline(always)]
pub fn prefetch_around(field: &u64, offset: usize, begin: usize, size: usize) {
    let load =
        |at: usize| prefetch_index(from_ref(field), (at / size_of::<u64>()).wrapping_sub(offset / size_of::<u64>()));
    (begin..begin + size).step_by(LINE).for_each(load);
    load(begin + size - 1);
}
