//! The window of an end that receives no data: the same in every packet after the handshake.

/// The windows that an end advertises that receives no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleWindow {
    /// In its SYN, which has no scaled window, bytes.
    pub syn: u16,
    /// In its other packets, bytes.
    pub bytes: u32,
    /// The shift that its SYN announces.
    pub scale: u8,
}
