//! The charge of a packet against a memory limit.

use crate::packet::{FULL_FRAME, HEADERS};

/// Overhead of a frame that fits no buffer of 2048 bytes, whose payload lies in pages, bytes: head, sk_buff and shared info.
const HEAD: u32 = 832;

/// Memory charged for a frame of `len` bytes: Linux's truesize of a packet that a driver received into one linear buffer on
/// a 64-bit machine. That is the sk_buff (256 bytes) and a power-of-two buffer for headroom (64), frame and
/// skb_shared_info (320): 2304 bytes for 1514, 768 for 66. The payload of a larger frame lies in pages.
#[inline]
pub(super) fn truesize(len: u32) -> u32 {
    const FULL: u32 = linear(FULL_FRAME);
    if len == FULL_FRAME {
        FULL
    } else if len > FULL_FRAME {
        len - HEADERS + HEAD
    } else {
        linear(len)
    }
}

const fn linear(len: u32) -> u32 {
    256 + ((len + 64).next_multiple_of(64) + 320).next_power_of_two()
}
