//! What the sender does about ECN itself (RFC 3168 section 6.1.2): CWR on the first new segment after a reduction.

/// Whether ECN is used, and whether CWR is to be sent. Told when the window was reduced; asked when new data are sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct EcnState {
    on: bool,
    cwr_queued: bool,
}

impl EcnState {
    /// Before the first reduction.
    pub fn new(on: bool) -> Self {
        Self { on, cwr_queued: false }
    }

    /// Both ends agreed on it.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The window was reduced: the next new segment says so.
    pub fn queue_cwr(&mut self) {
        self.cwr_queued = self.on;
    }

    /// CWR was sent, or the reduction was undone.
    #[inline]
    pub fn unqueue_cwr(&mut self) {
        self.cwr_queued = false;
    }

    /// The next new segment has CWR.
    #[inline]
    pub fn cwr_queued(&self) -> bool {
        self.cwr_queued
    }
}
