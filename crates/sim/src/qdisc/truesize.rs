//! What a packet is charged against a memory limit.

use crate::packet::FULL_FRAME;

/// Memory charged for a frame of `len` bytes: Linux's truesize of a packet that a driver received into one linear buffer on
/// a 64-bit machine. That is the sk_buff (256 bytes) and a power-of-two buffer for headroom (64), frame and
/// skb_shared_info (320): 2304 bytes for 1514, 768 for 66.
#[inline]
pub(super) fn truesize(len: u32) -> u32 {
    const FULL: u32 = linear(FULL_FRAME);
    if len == FULL_FRAME {
        FULL
    } else {
        linear(len)
    }
}

const fn linear(len: u32) -> u32 {
    256 + ((len + 64).next_multiple_of(64) + 320).next_power_of_two()
}
