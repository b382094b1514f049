//! A random peer plays against an end, live; and an end is driven by a case alone.

use dumbbell_sim::time::{Time, MS, SEC, US};
use serde::{Deserialize, Serialize};

use crate::case::{bits, usual_stack, Action, Answer, Case, Event, Kind, Segment, What};
use crate::end::End;
use crate::peer::draw::{Abort, Drawn, Stream};
use crate::peer::Peer;

/// Minimum distance between two actions, and between an action and the start of a tick, so that the simulator and the kernel process them in
/// the same order.
const APART: Time = 20 * US;
/// Each action comes so many ns after the start of a microsecond.
const WITHIN: Time = 300;
/// When the end is opened.
const OPENS_AT: Time = 10 * MS + 200 * US + WITHIN;
/// How long the end is watched after the last packet that reached it.
const WATCHED: Time = 2 * SEC;

/// Options of the draw.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Seed.
    pub seed: u64,
    /// Number of the first case.
    pub first: u64,
    /// Number of cases.
    pub count: u64,
    /// The role of the end under test.
    pub kind: Kind,
    /// The end's congestion control.
    pub cc: String,
    /// Seed of what that draws.
    #[serde(default)]
    pub control_seed: u64,
    /// The end's stack.
    #[serde(default = "usual_stack")]
    pub stack: String,
    /// The end negotiates ECN.
    pub ecn: bool,
    /// The end builds TSO segments.
    pub tso: bool,
    /// The ends agree on SACK.
    pub sack: bool,
    /// The ends agree on timestamps.
    pub timestamps: bool,
    /// The connection is reset by one of its ends or by neither of them, or its application leaves.
    #[serde(default)]
    pub aborts: bool,
    /// Both ends open the connection at once.
    #[serde(default)]
    pub crossed: bool,
}

/// Draws the case of a number, and lets its peer play against the end of the simulator.
///
/// # Errors
/// A line about what the options ask of the end and cannot be.
pub fn play(options: &Options, number: u64) -> Result<(Case, Vec<Answer>), String> {
    let mut drawn = Drawn::new(options.seed, number);
    drawn.end_opens |= options.crossed;
    let own = drawn.stream(options, number, "end", options.kind != Kind::Receive);
    let peers = drawn.stream(options, number, "peer", options.kind != Kind::Send);
    let mut case = Case {
        seed: options.seed,
        number,
        control_seed: options.control_seed,
        kind: options.kind,
        cc: options.cc.clone(),
        stack: options.stack.clone(),
        ecn: options.ecn,
        tso: options.tso,
        sack: options.sack,
        timestamps: options.timestamps,
        nodelay: drawn.nodelay && options.kind == Kind::Both,
        rcvbuf: drawn.rcvbuf.filter(|_| options.kind != Kind::Send),
        sndbuf: drawn.sndbuf.filter(|_| options.kind != Kind::Receive),
        reads_bps: drawn.reads_bps.filter(|_| options.kind == Kind::Receive),
        peer_segments: peers.segments(),
        end_ns: 0,
        actions: calls(&own, &drawn, options.kind),
    };
    let mut end = End::new(&case)?;
    let mut peer = Peer::new(options.seed, number, drawn.clone(), peers, options);
    if options.crossed {
        peer.open_at(OPENS_AT + drawn.crosses_after(options.seed, number));
    }
    if options.aborts {
        let (at, how) = Drawn::abort(options.seed, number);
        match how {
            Abort::Application => case.actions.push(Action { at_ns: apart(at), what: What::Abort }),
            Abort::Quits(stops) => {
                case.actions.push(Action { at_ns: apart(stops), what: What::Stop });
                case.actions.push(Action { at_ns: apart(at + APART), what: What::Quit });
            }
            Abort::Peer(rst) => peer.reset_at(at, rst),
        }
        case.actions.sort_by_key(|call| call.at_ns);
    }
    let mut calls = std::mem::take(&mut case.actions).into_iter().peekable();
    let mut packets = 0;
    let mut last: Time = 0;
    let mut answers = vec![];
    loop {
        let (call, due) = (calls.peek().map(|call| call.at_ns), peer.next());
        let next = call.into_iter().chain(due).fold(end.next_timer(), Time::min);
        let only_reads = due.is_none() && calls.peek().is_some_and(|call| matches!(call.what, What::Read { .. }));
        if next > drawn.horizon || packets == drawn.most_packets || (only_reads && next > last + WATCHED) {
            break;
        }
        if call == Some(next) {
            let call = calls.next().expect("there is one");
            // A call keeps its time; packets keep their distance from it.
            last = last.max(call.at_ns);
            end.advance(call.at_ns);
            end.act(&call.what)?;
            case.actions.push(call);
        } else if due == Some(next) {
            if let Some(segment) = peer.step(next) {
                let at = apart(next.max(last + APART));
                if let Some(call) = call.filter(|&call| call < at + APART) {
                    peer.again(call + APART, segment);
                    continue;
                }
                last = at;
                packets += 1;
                end.advance(at);
                let action = Action { at_ns: at, what: What::Packet(segment) };
                end.act(&action.what)?;
                case.actions.push(action);
                note_info(&end, at, case.actions.len() - 1, &mut answers);
            }
        } else {
            end.advance(next);
        }
        hear_all(&mut end, &mut peer, options.aborts, &mut answers);
    }
    case.end_ns = last + WATCHED;
    end.advance(case.end_ns);
    hear_all(&mut end, &mut peer, options.aborts, &mut answers);
    // The end may have sent packets later that the peer did not answer: they are not part of the case.
    answers.retain(|answer| answer.at_ns <= case.end_ns);
    sort(&mut answers);
    Ok((case, answers))
}

/// An action that cannot happen to the end of a case: no peer of this end can have sent it. Or there is no such end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Impossible {
    /// Number of the action.
    pub action: usize,
    /// Returns a message that says what is wrong with the case.
    pub what: String,
}

/// Drives the end of a case by what the case has written down.
///
/// # Errors
/// The first action that is impossible.
pub fn replay(case: &Case) -> Result<Vec<Answer>, Impossible> {
    let mut end = End::new(case).map_err(|what| Impossible { action: 0, what })?;
    let mut answers = vec![];
    for (index, action) in case.actions.iter().enumerate() {
        end.advance(action.at_ns);
        end.act(&action.what).map_err(|what| Impossible { action: index, what })?;
        answers.extend(end.take_sent().into_iter().map(packet));
        if matches!(action.what, What::Packet(_)) {
            note_info(&end, action.at_ns, index, &mut answers);
        }
    }
    end.advance(case.end_ns);
    answers.extend(end.take_sent().into_iter().map(packet));
    sort(&mut answers);
    Ok(answers)
}

fn packet((at_ns, segment): (Time, Segment)) -> Answer {
    Answer { at_ns, event: Event::Packet(segment) }
}

fn note_info(end: &End, at_ns: Time, action: usize, answers: &mut Vec<Answer>) {
    if let Some(info) = end.info() {
        answers.push(Answer { at_ns, event: Event::Info { action, info } });
    }
}

/// Sorts by time. TCP_INFO comes after the packets of the same time.
fn sort(answers: &mut [Answer]) {
    answers.sort_by_key(|answer| (answer.at_ns, matches!(answer.event, Event::Info { .. })));
}

fn hear_all(end: &mut End, peer: &mut Peer, aborts: bool, answers: &mut Vec<Answer>) {
    for (at, segment) in end.take_sent() {
        // Without aborts the peer has closed as well when it is told that the connection is gone.
        if aborts || !segment.has(bits::RST) {
            peer.hear(at, segment.clone());
        }
        answers.push(packet((at, segment)));
    }
}

/// The time or soon after it: not close to where a tick begins, and within a microsecond, so that the nanoseconds in which a kernel reads its
/// clock change no timestamp.
fn apart(at: Time) -> Time {
    let at = at.next_multiple_of(US) + WITHIN;
    let (tick, since) = (at - at % MS, at % MS);
    if since > MS - 2 * APART {
        tick + MS + APART + WITHIN
    } else {
        tick + since.max(APART + WITHIN)
    }
}

/// The calls of the end's application, in order of time.
fn calls(own: &Stream, drawn: &Drawn, kind: Kind) -> Vec<Action> {
    let mut calls = vec![];
    let mut call = |at_ns, what| calls.push(Action { at_ns, what });
    if drawn.end_opens {
        call(OPENS_AT, What::Open);
    }
    for &(at, bytes) in &own.writes {
        call(if kind == Kind::Send { OPENS_AT } else { apart(at) }, What::Write { bytes });
    }
    if let Some(at) = own.closes {
        call(if kind == Kind::Send { OPENS_AT } else { apart(at) }, What::Close);
    }
    if let (Kind::Receive, Some(bps)) = (kind, drawn.reads_bps) {
        calls.extend(drawn.turns(bps, OPENS_AT).map(|(at_ns, bytes)| Action { at_ns, what: What::Read { bytes } }));
    }
    calls.sort_by_key(|call| call.at_ns);
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_an_end_is_apart_from_ticks_and_keeps_its_order() {
        let times = [0, 1, 19_000, 20_300, 500_000, 959_999, 960_001, 999_999, MS, 5 * MS - 1];
        let moved = times.map(apart);
        assert!(moved.windows(2).all(|pair| pair[0] <= pair[1]), "{moved:?}");
        assert!(
            moved.iter().zip(times).all(|(&at, from)| at >= from && at % US == WITHIN && at < from + MS / 10),
            "{moved:?}"
        );
        assert!(moved.iter().all(|at| (APART..=MS - APART).contains(&(at % MS))), "{moved:?}");
    }

    #[test]
    fn a_case_leads_to_what_the_live_peer_led_to() {
        for kind in [Kind::Send, Kind::Receive, Kind::Both] {
            for (cc, ecn) in [("cubic", false), ("dctcp", true), ("bbr", false)] {
                let tso = kind == Kind::Send && cc == "bbr";
                let options = Options {
                    seed: 1,
                    first: 0,
                    count: 8,
                    kind,
                    cc: cc.into(),
                    stack: usual_stack(),
                    control_seed: 0,
                    ecn,
                    tso,
                    sack: true,
                    timestamps: true,
                    aborts: kind == Kind::Both && cc == "cubic",
                    crossed: kind == Kind::Both && cc != "cubic",
                };
                for number in 0..options.count {
                    let (case, answers) = play(&options, number).expect("an end");
                    assert_eq!(replay(&case), Ok(answers));
                    let packets = case.actions.iter().filter(|action| matches!(action.what, What::Packet(_)));
                    let times: Vec<Time> = packets.map(|action| action.at_ns).collect();
                    assert!(times.windows(2).all(|pair| pair[0] + APART <= pair[1]), "{times:?}");
                }
            }
        }
    }

    #[test]
    fn what_no_peer_can_have_sent_is_told() {
        let options = Options {
            seed: 1,
            first: 0,
            count: 1,
            kind: Kind::Send,
            cc: "reno".into(),
            stack: usual_stack(),
            control_seed: 0,
            ecn: false,
            tso: false,
            sack: true,
            timestamps: true,
            aborts: false,
            crossed: false,
        };
        let (mut case, _) = play(&options, 0).expect("an end");
        let segment = Segment { flags: crate::case::bits::ACK, ack: 1_000_000, ..Segment::default() };
        let at_ns = case.actions.last().expect("it has actions").at_ns + APART;
        case.actions.push(Action { at_ns, what: What::Packet(segment) });
        let told = replay(&case).expect_err("nothing like that was sent");
        let what = "ack 1000000 is at no border of a segment".into();
        assert_eq!(told, Impossible { action: case.actions.len() - 1, what });
        let unknown = Case { cc: "none".into(), ..case };
        assert!(replay(&unknown).expect_err("no such control").what.contains("unknown \"none\""));
    }
}
