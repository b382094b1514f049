//! Bulk flows: TCP connections that send all they can, or a sized transfer, from the start of the run. The parts that other kinds of
//! traffic over TCP are built from are here as well.

use super::site::{can_be_made, check_ends, Controls, Site, MOST_SEGMENTS};
use crate::cc::{self, AnyCc, Needs};
use crate::flow::Flow;
use crate::refusal::Flaws;
use crate::spec::{CcSpec, ConnectionSpec, Heading, Opener, TcpSpec};
use crate::tcp::bsd;
use crate::tcp::endpoint::{Receiver, Sender};
use crate::tcp::implementation::{check_bsd, check_linux, check_needs, Implementation};
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::{receiver, sender};
use crate::time::NEVER;

/// Most that an application reads, bit/s: more than any path carries.
pub(super) const MAX_READING: u64 = 1_000_000_000_000;
/// Event sources of a flow: the receiver's, the sender's timer and that of pacing, start and stop.
pub const SOURCES: usize = receiver::SOURCES + sender::SOURCES + 1;
/// The sender's timer among them.
pub const SENDER_TIMER: usize = receiver::SOURCES;
/// The sender's pacing timer among them.
pub const DEPARTURE: usize = SENDER_TIMER + 1;
/// Start and stop among them.
pub const CONTROL: usize = SOURCES - 1;

/// The connections of a workload.
///
/// # Errors
/// All that cannot be run.
pub fn connections(spec: &TcpSpec, site: &Site) -> Result<Vec<Flow>, Flaws> {
    let stack = Flaws::within("stack", Implementation::from_spec(&spec.stack));
    let flow = |stack: &Implementation, connection: &ConnectionSpec, i: usize| {
        let (index, source) = (site.index + i as u32, site.source + SOURCES * i);
        let (sender, receiver) =
            ends(spec, stack, index, source, site.controls, [site.network.seed, u64::from(index)])?;
        Ok(Flow {
            name: connection.name.clone(),
            sender,
            receiver,
            start: connection.start_ns,
            stop: connection.stop_ns.unwrap_or(NEVER).min(site.network.duration_ns),
            takes_turns: spec.host.reads_bps.is_some(),
            is_download: spec.opener == Opener::To,
        })
    };
    let flows =
        stack.and_then(|stack| spec.connections.iter().zip(0..).map(|(each, i)| flow(&stack, each, i)).collect());
    checked(spec, site, flows)
}

/// Return `made`, which was made for one-way connections, if `spec` has no other flaws.
pub(super) fn checked<T>(spec: &TcpSpec, site: &Site, made: Result<T, Flaws>) -> Result<T, Flaws> {
    let mut flaws = Flaws::default();
    flaws.range(
        "first_write_bytes",
        spec.first_write_bytes.unwrap_or(1),
        "bytes",
        1..=spec.segment_bytes.saturating_sub(1),
    );
    flaws.range(
        "transfer_bytes",
        spec.transfer_bytes.unwrap_or(1),
        "bytes",
        1..=MOST_SEGMENTS * u64::from(spec.segment_bytes),
    );
    flaws.range("host.reads_bps", spec.host.reads_bps.unwrap_or(1), "bit/s", 1..=MAX_READING);
    check_ends(spec, site.network.mtu_bytes, &mut flaws);
    flaws.and(Flaws::both(site.check(Heading::from(spec)), made)).map(|((), made)| made)
}

/// The two ends of a connection, as the stack's implementation makes them; `seed`: see [`cc::View::seed`].
///
/// # Errors
/// What the implementation or the congestion control cannot be.
pub fn ends(
    spec: &TcpSpec,
    stack: &Implementation,
    index: u32,
    source: usize,
    controls: &Controls,
    seed: [u64; 2],
) -> Result<(Sender, Receiver), Flaws> {
    can_be_made(spec)?;
    let timer = source + SENDER_TIMER;
    match stack {
        Implementation::Linux(stack) => {
            let (cc, needs) = control(spec, stack, controls)?;
            let receiver = receiver::Receiver::new(index, source, spec, stack, &needs);
            let sender = sender::Sender::new(index, timer, spec, stack.clone(), cc, needs).seeded(seed);
            Ok((Sender::Linux(sender), Receiver::Linux(receiver)))
        }
        Implementation::Bsd(stack) => {
            let mut flaws = Flaws::default();
            if spec.opener == Opener::To {
                flaws.add("opener", format_args!("to on the stack {}", spec.stack.name), "from");
            }
            flaws.and(check_bsd(spec, stack))?;
            let sender = bsd::sender::Sender::new(index, timer, spec, stack).seeded(seed);
            Ok((Sender::Bsd(sender), Receiver::Bsd(bsd::receiver::Receiver::new(index, source, spec, stack))))
        }
    }
}

/// The congestion control of an end.
pub(super) fn control(spec: &TcpSpec, stack: &Stack, controls: &Controls) -> Result<(AnyCc, Needs), Flaws> {
    check_linux(spec, stack)?;
    let CcSpec { kind, parameters } = &spec.cc;
    let made = cc::build(kind, parameters, &stack.control_parameters(), controls);
    let (control, needs) = Flaws::within("cc", made)?;
    check_needs(spec, &needs, stack)?;
    if cc::find(kind).is_none() && needs.ecn && !spec.ecn {
        return Err(Flaws::one("ecn", format_args!("false leaves {kind} without the marks that it works on"), true));
    }
    Ok((control, needs))
}
