//! Frames and captures of them, read and analysed.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::net::{IpAddr, Ipv4Addr};

use dumbbell_trace::packet::{Endpoint, Packet};
use dumbbell_trace::{spp, Analysis, Error, Frame, Reader, Tally, TcpOption, Transport, Writer, EPOCH_S};

pub const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 1, 0, 1), 10_000);
pub const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 2, 0, 2), 5_000);
pub const MS: i64 = 1_000_000;
/// Time 0 of a run in a capture of its own.
pub const EPOCH_NS: i64 = EPOCH_S as i64 * 1_000_000_000;

pub fn endpoint(address: (Ipv4Addr, u16)) -> Endpoint {
    (IpAddr::V4(address.0), address.1)
}

pub fn frame(time_ms: i64, seq: u32, ack: u32, flags: u16, payload: u16, from_client: bool) -> Frame {
    let (source, destination) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let options = vec![TcpOption::Timestamps(time_ms as u32, 7)];
    Frame {
        time_ns: (time_ms * MS) as u64,
        source,
        destination,
        id: (time_ms as u16) ^ seq as u16,
        dscp: 0,
        ecn: 2,
        transport: Transport::Tcp { seq, ack, flags, window: 511, options },
        payload,
    }
}

/// The packets of a capture, and their tally.
#[derive(Debug)]
pub struct Capture {
    pub packets: Vec<Packet>,
    pub tally: Tally,
}

pub fn read(file: &[u8]) -> Result<Capture, String> {
    let message = |error| match error {
        Error::Content(message) => message,
        Error::Io(error) => panic!("memory cannot fail: {error}"),
    };
    let mut reader = Reader::new(file).map_err(message)?;
    let mut packets = vec![];
    while let Some(packet) = reader.next_packet().map_err(message)? {
        packets.push(packet);
    }
    Ok(Capture { packets, tally: reader.tally().clone() })
}

pub fn analysis(packets: &[Packet]) -> Analysis {
    let mut found = Analysis::default();
    packets.iter().for_each(|p| _ = found.add(p));
    found
}

/// The RTT samples of the client's data in the first connection, or of the server's, in the order of the capture.
pub fn rtts_ns(packets: &[Packet], reverse: bool) -> Vec<i64> {
    let mut found = Analysis::default();
    let events: Vec<_> = packets.iter().map(|p| found.add(p)).collect();
    // The answer comes from the other end.
    events.iter().filter(|e| e.connection == 0 && e.reverse != reverse).filter_map(|e| e.rtt_ns).collect()
}

pub fn between(first: &[Packet], second: &[Packet]) -> Result<Vec<spp::Pairs>, String> {
    let point = |packets: &[Packet]| {
        let mut point = spp::Point::default();
        packets.iter().for_each(|p| point.add(p));
        point
    };
    spp::between(point(first), point(second), false).map(|found| found.0)
}

pub fn file(frames: &[Frame]) -> Vec<u8> {
    let mut writer = Writer::default();
    frames.iter().for_each(|f| writer.add(f).unwrap());
    writer.finish()
}
