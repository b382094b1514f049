//! Places where packets are captured, as a description says.

use crate::capture::FlowHeaders;
use crate::refusal::Flaws;
use crate::spec::NetworkSpec;
use crate::tap::Tap;

/// Most points of the path: 8 bits count them together with the hosts.
const MOST_POINTS: usize = 200;

/// Check the points. A port that does not exist is an error, and so is a host's own port: the captures of the hosts have the packets that
/// leave it.
pub fn check(spec: &NetworkSpec, flaws: &mut Flaws) {
    let points = &spec.captured_ports;
    if points.len() > MOST_POINTS {
        flaws.add("captured_ports", points.len(), format_args!("at most {MOST_POINTS} points of the path"));
    }
    if points.iter().any(Vec::is_empty) {
        flaws.add("captured_ports", "a point without ports", "a port at least");
    }
    let on_host = |port: usize| spec.hosts.iter().any(|host| host.egress == Some(port));
    let mut seen = vec![];
    for &port in points.iter().flatten() {
        if port >= spec.ports.len() || on_host(port) || seen.contains(&port) {
            let what = format_args!("port {port} of {}", spec.ports.len());
            flaws.add("captured_ports", what, "ports that there are, that are on no host, each once");
        }
        seen.push(port);
    }
}

/// The taps, for these flows.
pub fn put(spec: &NetworkSpec, headers: &[FlowHeaders]) -> Tap {
    let mut tap = Tap::new(headers.iter().map(|flow| flow.from_right));
    if spec.capture {
        tap.put_at_hosts(spec.hosts.iter().filter_map(|host| host.egress));
    }
    for ports in &spec.captured_ports {
        tap.put_on_path(spec.ports[ports[0]].id().to_owned(), ports);
    }
    tap
}
