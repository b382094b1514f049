//! Reads the TCP packets of a capture, and counts the others by the reason why they were left out.

use std::io::Read;

use crate::container::{Error, Next, Records};
use crate::dissect::{dissect, Options};
use crate::packet::Packet;
use crate::tally::Tally;

/// The TCP packets of a capture, in the order of the file.
///
/// Files: pcap (microseconds or nanoseconds, either byte order) and pcapng, as they are or packed by gzip or zstd. It holds one record at a time,
/// at most 1 MiB.
pub struct Reader<R: Read> {
    records: Records<R>,
    tally: Tally,
    previous_ns: i64,
}

impl<R: Read> Reader<R> {
    /// Begins to read a capture.
    ///
    /// # Errors
    /// The stream fails, is no capture, or is one of an unsupported link type.
    pub fn new(stream: R) -> Result<Self, Error> {
        Ok(Self { records: Records::new(stream)?, tally: Tally::default(), previous_ns: i64::MIN })
    }

    /// Return the next TCP packet; None at the end.
    ///
    /// # Errors
    /// The stream fails or is damaged; the tally reports the damage, too. Packets that were read before are good.
    pub fn next_packet(&mut self) -> Result<Option<Packet>, Error> {
        let found = self.search();
        if let Err(Error::Content(message)) = &found {
            self.tally.damage = Some(message.clone());
        }
        found
    }

    fn search(&mut self) -> Result<Option<Packet>, Error> {
        loop {
            let found = match self.records.next()? {
                Next::Record(record) => {
                    self.tally.last_ns = Some(record.time_ns);
                    dissect(&record)
                }
                Next::LeftOut(reason) => Err(reason),
                Next::End => return Ok(None),
                Next::CutShort => {
                    self.tally.cut_short = Some(self.records.position());
                    return Ok(None);
                }
            };
            match found {
                Ok((packet, options)) => {
                    self.tally.tcp_packets += 1;
                    self.tally.options_cut += u64::from(options == Options::Cut);
                    self.tally.options_invalid += u64::from(options == Options::Invalid);
                    self.tally.earlier_than_previous += u64::from(packet.time_ns < self.previous_ns);
                    self.previous_ns = packet.time_ns;
                    return Ok(Some(packet));
                }
                Err(reason) => self.tally.leave_out(reason),
            }
        }
    }

    /// Return the counts of the packets read so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}
