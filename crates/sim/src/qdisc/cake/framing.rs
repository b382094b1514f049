//! The length a packet is charged: keywords `overhead`, `mpu`, `raw`, `noatm`, `atm`, `ptm`.

use crate::spec::CakeFraming;

/// Length of the Ethernet header, which `overhead` counts from the end of.
const NETWORK_OFFSET: i64 = 14;

/// Turns frame lengths into charged lengths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    /// Added to the frame length, bytes (already less the Ethernet header unless `raw`).
    adjustment: i32,
    mpu: i32,
    cells: CakeFraming,
    /// Frame lengths are charged as they are.
    identity: bool,
}

impl Framing {
    /// The lengths that these keywords make.
    pub fn new(overhead: Option<i64>, mpu: u64, cells: CakeFraming) -> Self {
        let adjustment = overhead.map_or(0, |o| o - NETWORK_OFFSET) as i32;
        let identity = adjustment == 0 && mpu == 0 && cells == CakeFraming::Noatm;
        Self { adjustment, mpu: mpu as i32, cells, identity }
    }

    /// Charged length of a frame of `len` bytes.
    #[inline]
    pub fn charged(&self, len: u32) -> u32 {
        if self.identity {
            return len;
        }
        let len = (len as i32 + self.adjustment).max(self.mpu).max(0) as u32;
        match self.cells {
            CakeFraming::Noatm => len,
            CakeFraming::Atm => len.div_ceil(48) * 53,
            CakeFraming::Ptm => len + len.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Framing;
    use crate::spec::CakeFraming::{Atm, Noatm, Ptm};

    fn charged(overhead: Option<i64>, mpu: u64, cells: crate::spec::CakeFraming, len: u32) -> u32 {
        Framing::new(overhead, mpu, cells).charged(len)
    }

    #[test]
    fn lengths() {
        assert_eq!(charged(None, 0, Noatm, 1514), 1514);
        assert_eq!(charged(Some(0), 0, Noatm, 1514), 1500);
        assert_eq!(charged(Some(38), 0, Noatm, 1514), 1538);
        assert_eq!(charged(Some(-64), 0, Noatm, 66), 0);
        assert_eq!(charged(Some(38), 84, Noatm, 54), 84);
        assert_eq!(charged(None, 84, Noatm, 66), 84);
        // 1500 + 32 = 1532 bytes in 32 cells; 40 + 8 fills one cell, one byte more needs another.
        assert_eq!(charged(Some(32), 0, Atm, 1514), 32 * 53);
        assert_eq!(charged(Some(8), 0, Atm, 54), 53);
        assert_eq!(charged(Some(9), 0, Atm, 54), 106);
        assert_eq!(charged(Some(0), 0, Ptm, 14 + 64), 65);
        assert_eq!(charged(Some(0), 0, Ptm, 14 + 65), 67);
        assert_eq!(charged(None, 0, Ptm, 1514), 1514 + 24);
    }
}
