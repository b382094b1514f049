//! Socket buffers: their sizes, and how far the application has written (FreeBSD 9.3 sys/kern/uipc_{sockbuf,socket}.c;
//! sys/netinet/tcp_input.c `tcp_mss`, tcp_output.c). A size that the application sets is taken as it is, rounded up to whole segments.
//!
//! Leaves out: the memory of mbufs, which the limit of 8 times the payload never reaches with full segments.

use super::stack::Stack;
use crate::packet::MSS;
use crate::tcp::common::layout::Layout;

const SEG: u64 = MSS as u64;
/// Least room for which a blocked writer is woken, bytes.
const LOWAT: u64 = 2048;

/// The size of a buffer, bytes.
#[derive(Clone, Debug)]
pub(super) struct Size {
    pub bytes: u64,
    /// It grows by so much up to so much; None: it stays.
    growth: Option<(u64, u64)>,
}

impl Size {
    /// Buffer set by the application (`fixed`), or first size, step and limit of the host.
    pub fn new(stack: &Stack, fixed: Option<u64>, first: u64, step: u64, most: u64) -> Self {
        let size = fixed.unwrap_or(first);
        let whole = size.next_multiple_of(SEG).min(stack.maxsockbuf);
        Self {
            bytes: if whole <= stack.most_buffer() { whole } else { size },
            growth: (fixed.is_none() && step > 0).then_some((step, most.min(stack.most_buffer()))),
        }
    }

    /// May grow.
    pub fn auto(&self) -> bool {
        self.growth.is_some_and(|(_, most)| self.bytes < most)
    }

    /// One step.
    pub fn grow(&mut self) {
        if let Some((step, most)) = self.growth {
            self.bytes = (self.bytes + step).min(most).max(self.bytes);
        }
    }
}

/// Send buffer of a connection.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    pub size: Size,
    /// Bytes that the application has written, and will.
    written: u64,
    layout: Layout,
}

impl SendBuffer {
    pub fn new(size: Size, layout: Layout) -> Self {
        Self { size, written: 0, layout }
    }

    /// Bytes in the buffer from segment `una` on.
    pub fn held(&self, una: u32) -> u64 {
        self.written - self.layout.before(una).min(self.written)
    }

    /// True if the application has written everything.
    pub fn complete(&self) -> bool {
        self.written == self.layout.total()
    }

    /// The application writes if it is woken; true if it wrote.
    pub fn fill(&mut self, una: u32) -> bool {
        if self.complete() || self.size.bytes < self.held(una) + LOWAT {
            return false;
        }
        self.written = (self.layout.before(una) + self.size.bytes).min(self.layout.total());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::common::layout::tests::bulk_flow;

    fn layout(transfer_bytes: Option<u64>) -> Layout {
        Layout::of(&crate::spec::TcpSpec { transfer_bytes, ..bulk_flow() })
    }
    use crate::tcp::bsd::stack::STACKS;

    fn size(fixed: Option<u64>) -> Size {
        let stack = &STACKS[0].2;
        Size::new(stack, fixed, stack.sendspace, stack.sendbuf_inc, stack.sendbuf_max)
    }

    #[test]
    fn a_set_size_is_whole_segments_and_stays() {
        let mut s = size(Some(600_000));
        assert_eq!((s.bytes, s.auto()), (415 * SEG, false));
        s.grow();
        assert_eq!(s.bytes, 415 * SEG);
    }

    #[test]
    fn an_unset_size_grows_to_what_mbufs_leave() {
        let mut s = size(None);
        assert_eq!((s.bytes, s.auto()), (32_768_u64.next_multiple_of(SEG), true));
        for _ in 0..1000 {
            s.grow();
        }
        assert_eq!((s.bytes, s.auto()), (2_097_152 * 2048 / 2304, false));
    }

    #[test]
    fn a_writer_wakes_for_two_kib() {
        let mut b = SendBuffer::new(size(Some(10 * SEG)), layout(None));
        assert!(b.fill(1));
        assert_eq!(b.held(1), 10 * SEG);
        assert!(!b.fill(2), "1448 bytes are too few");
        assert!(b.fill(3));
        assert_eq!(b.held(3), 10 * SEG);
    }

    #[test]
    fn a_transfer_ends() {
        let mut b = SendBuffer::new(size(Some(10 * SEG)), layout(Some(2 * SEG + 1)));
        assert!(b.fill(1));
        assert!(b.complete() && !b.fill(3));
        assert_eq!((b.held(1), b.held(3), b.held(4)), (2 * SEG + 1, 1, 0));
    }
}
