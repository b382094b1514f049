//! The bytes of a capture file, packed or not: gzip (RFC 1952) and Zstandard (RFC 8878) are known by their first bytes, not by the file's
//! name. Both may have several members behind each other.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Most bytes that a Zstandard frame may refer back to, as in the command zstd without --long.
const MOST_WINDOW: u64 = 1 << 27;
/// Bytes that are read from the file at a time.
const ROOM: usize = 1 << 16;

/// A stream that is unpacked while it is read.
pub enum Unpacked<R: Read> {
    Plain(BufReader<R>),
    Gzip(BufReader<Box<MultiGzDecoder<BufReader<R>>>>),
    Zstandard(BufReader<Box<Frames<BufReader<R>>>>),
}

impl<R: Read> Unpacked<R> {
    /// Looks at the first bytes of a stream.
    pub fn new(stream: R) -> io::Result<Self> {
        let mut stream = BufReader::with_capacity(ROOM, stream);
        let first = stream.fill_buf()?;
        Ok(if first.starts_with(&GZIP) {
            Self::Gzip(BufReader::with_capacity(ROOM, Box::new(MultiGzDecoder::new(stream))))
        } else if first.starts_with(&ZSTANDARD) {
            Self::Zstandard(BufReader::with_capacity(ROOM, Box::new(Frames { next: Some(stream), open: None })))
        } else {
            Self::Plain(stream)
        })
    }

    /// True if another stream than the file itself is read.
    pub fn is_packed(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(room),
            Self::Gzip(stream) => stream.read(room),
            Self::Zstandard(stream) => stream.read(room),
        }
    }
}

/// The frames of a Zstandard file behind each other.
pub struct Frames<S: BufRead> {
    /// The stream between two frames.
    next: Option<S>,
    open: Option<Box<StreamingDecoder<S, ruzstd::decoding::FrameDecoder>>>,
}

impl<S: BufRead> Read for Frames<S> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(mut frame) = self.open.take() {
                let count = frame.read(room)?;
                if count > 0 {
                    self.open = Some(frame);
                    return Ok(count);
                }
                self.next = Some(frame.into_inner());
            }
            let Some(mut stream) = self.next.take() else { return Ok(0) };
            if stream.fill_buf()?.is_empty() {
                self.next = Some(stream);
                return Ok(0);
            }
            let frame = StreamingDecoder::new_with_max_window_size(stream, MOST_WINDOW)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            self.open = Some(Box::new(frame));
        }
    }
}
