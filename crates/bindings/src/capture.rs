//! The simulator's packets as capture files.

use std::net::Ipv4Addr;

use dumbbell_sim::capture::{Capture, Header, Syn, Wire};
use dumbbell_sim::segment::flags as sim;
use dumbbell_sim::tap::{LEFT, PATH};
use dumbbell_trace::packet::flags;
use dumbbell_trace::{Frame, TcpOption, Transport, Writer};

/// The captures that are asked for, by the names of their files.
pub fn files(capture: &Capture) -> Result<Vec<(String, Vec<u8>)>, String> {
    let points = capture.points().iter().map(|name| format!("port-{name}.pcap"));
    let names = ["left.pcap", "right.pcap"].map(str::to_owned).into_iter().chain(points);
    let mut files: Vec<(String, Writer)> = names.map(|name| (name, Writer::default())).collect();
    for record in capture.records() {
        files[usize::from(record.place)].1.add(&frame(record.time, &capture.wire(record)))?;
    }
    let first = if capture.is_of_hosts() { LEFT } else { PATH };
    Ok(files.into_iter().skip(first.into()).map(|(name, writer)| (name, writer.finish())).collect())
}

fn frame(time_ns: u64, wire: &Wire) -> Frame {
    let address = |host: u32, right: bool| {
        let [.., high, low] = host.to_be_bytes();
        Ipv4Addr::new(10, if right { 2 } else { 1 }, high, low)
    };
    Frame {
        time_ns,
        source: (address(wire.source.0, wire.leftwards), wire.source.1),
        destination: (address(wire.destination.0, !wire.leftwards), wire.destination.1),
        id: wire.id,
        dscp: wire.dscp,
        ecn: wire.ecn.bits(),
        transport: transport(&wire.header),
        payload: wire.payload,
    }
}

fn transport(header: &Header) -> Transport {
    let (seq, ack, bits, acknowledges, window, timestamps, syn, sacks, ecn_bytes) = match *header {
        Header::Udp => return Transport::Udp,
        Header::Echo { reply, id, seq } => return Transport::Echo { reply, id, seq },
        Header::Tcp { seq, ack, flags, acknowledges, window, timestamps, syn, sacks, ecn_bytes } => {
            (seq, ack, flags, acknowledges, window, timestamps, syn, sacks, ecn_bytes)
        }
    };
    let mut options = vec![];
    if let Some(Syn { mss, sack, .. }) = syn {
        options.push(TcpOption::MaximumSegmentSize(mss));
        options.extend(sack.then_some(TcpOption::SackPermitted));
    }
    options.extend(timestamps.map(|(value, echo)| TcpOption::Timestamps(value, echo)));
    options.extend(ecn_bytes.map(|bytes| {
        let kind = if bytes.ect0_first { TcpOption::ACCURATE_ECT0_FIRST } else { TcpOption::ACCURATE_ECT1_FIRST };
        TcpOption::AccurateEcn(kind, bytes.fields[..usize::from(bytes.count)].to_vec())
    }));
    options.extend(syn.and_then(|syn| syn.scale).map(TcpOption::WindowScale));
    if sacks.1 > 0 {
        options.push(TcpOption::Sack(sacks.0[..sacks.1].to_vec()));
    }
    let pairs = [
        (sim::SYN, flags::SYN),
        (sim::CWR, flags::CWR),
        (sim::ECE, flags::ECE),
        (sim::ESCE, flags::NS),
        (sim::PSH, flags::PSH),
        (sim::FIN, flags::FIN),
        (sim::RST, flags::RST),
    ];
    let own = pairs.iter().filter(|(bit, _)| bits & bit != 0).fold(0, |all, (_, flag)| all | flag);
    let flags = own | if acknowledges { flags::ACK } else { 0 };
    Transport::Tcp { seq, ack, flags, window, options }
}
