//! Congestion controls written in Python, which are called once a round trip.

use std::fmt;

use dumbbell_foreign::{Fault, MOST_WINDOW};
use dumbbell_sim::cc::{BoxedControl, CaState, CongestionControl, Needs, RateSample, Tell, View, Window};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Maximum rate of a paced sender, bit/s.
const MOST_RATE: f64 = 1e12;

/// A congestion control in Python: its name, the function that is called for each connection and returns the function that is called each
/// round, the class of that function's argument, and true if it sets a rate.
#[derive(FromPyObject)]
pub struct Function(String, Py<PyAny>, Py<PyAny>, bool);

/// Counts since the start of a round trip.
#[derive(Clone, Copy, Default)]
struct Counts {
    time_us: u64,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
}

/// The control of a connection.
pub struct InRounds {
    name: String,
    function: Py<PyAny>,
    round: Py<PyAny>,
    paced: bool,
    start: Counts,
    /// The round trip is over once this many segments are delivered.
    ends: u32,
    /// Least RTT of the round, us.
    rtt_us: Option<u32>,
    /// State variables that the function has emitted, in the order of their first values.
    emitted: Vec<(String, f64)>,
}

impl InRounds {
    /// # Errors
    /// What Python raises.
    pub fn new(function: &Function) -> PyResult<Self> {
        let Function(name, make, round, paced) = function;
        Python::attach(|py| {
            Ok(Self {
                name: name.clone(),
                function: make.call0(py)?,
                round: round.clone_ref(py),
                paced: *paced,
                start: Counts::default(),
                ends: 1,
                rtt_us: None,
                emitted: vec![],
            })
        })
    }

    /// A round trip is over: asks for the window.
    fn on_round(&mut self, v: &View, w: &mut Window) {
        let answer = Python::attach(|py| self.ask(py, v, w).map_err(|error| raised(py, &error)));
        let answer = answer.map(|(answer, emitted)| {
            self.keep(emitted);
            answer
        });
        match answer {
            Ok((window, rate)) => self.obey(v, w, window, rate),
            Err(what) => Fault::raise(&self.name, v, what, "a window, a window and a rate, or None"),
        }
        self.start = counts(v);
        // One that is sent from now on: it is there a round trip later.
        self.ends = v.delivered + v.in_flight() + 1;
        self.rtt_us = None;
    }

    /// Call the function. It returns a window in segments and a rate in bit/s, either of which may be missing.
    #[allow(clippy::type_complexity)]
    fn ask(&self, py: Python<'_>, v: &View, w: &Window) -> PyResult<((Option<f64>, Option<f64>), Vec<(String, f64)>)> {
        let (before, now) = (self.start, counts(v));
        let seconds = |us: u32| f64::from(us) / 1e6;
        let state = match v.state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        };
        let arguments = (
            now.time_us as f64 / 1e6,
            w.cwnd,
            w.ssthresh,
            seconds(v.srtt_us8) / 8.0,
            seconds(v.min_rtt_us),
            self.rtt_us.map(seconds),
            (now.time_us - before.time_us) as f64 / 1e6,
            now.delivered.saturating_sub(before.delivered),
            now.lost.saturating_sub(before.lost),
            now.delivered_ce.saturating_sub(before.delivered_ce),
            v.in_flight(),
            state,
        );
        let round = self.round.call1(py, arguments)?;
        let answer = self.function.call1(py, (&round,))?.into_bound(py);
        let emitted = match round.getattr(py, "emitted")?.into_bound(py).cast_into::<PyDict>() {
            Ok(all) => {
                all.iter().map(|(name, value)| Ok((name.extract()?, value.extract()?))).collect::<PyResult<_>>()?
            }
            Err(_) => vec![],
        };
        if answer.is_none() {
            return Ok(((None, None), emitted));
        }
        let answer = match answer.cast::<PyTuple>() {
            Ok(pair) => pair.extract::<(Option<f64>, Option<f64>)>()?,
            Err(_) => (Some(answer.extract()?), None),
        };
        Ok((answer, emitted))
    }

    /// Keeps the variables that the function has emitted, until it emits others.
    fn keep(&mut self, emitted: Vec<(String, f64)>) {
        for (name, value) in emitted {
            match self.emitted.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = value,
                None => self.emitted.push((name, value)),
            }
        }
    }

    fn obey(&self, v: &View, w: &mut Window, window: Option<f64>, rate: Option<f64>) {
        if let Some(segments) = window {
            if !(1.0..=f64::from(MOST_WINDOW)).contains(&segments) {
                let what = format!("returned a window of {segments} segments");
                Fault::raise(&self.name, v, what, format_args!("1 to {MOST_WINDOW}"));
            }
            w.cwnd = segments as u32;
            w.ssthresh = w.cwnd;
        }
        match rate {
            Some(bps) if !self.paced => {
                let what = format!("returned a rate of {bps} bit/s");
                Fault::raise(&self.name, v, what, "none, or dumbbell.control(paced=True)");
            }
            Some(bps) if !(8.0..=MOST_RATE).contains(&bps) => {
                let what = format!("returned a rate of {bps} bit/s");
                Fault::raise(&self.name, v, what, format_args!("8 to {MOST_RATE}"));
            }
            Some(bps) => w.pacing_rate = (bps / 8.0) as u64,
            None if self.paced && w.pacing_rate != u64::MAX => {}
            // Return twice the rate of the window, as the kernel does in slow start.
            None => {
                let bytes = u64::from(w.cwnd) * u64::from(v.mss) * 2;
                w.pacing_rate = (bytes * 8_000_000 / u64::from(v.srtt_us8.max(1))).max(1);
            }
        }
    }
}

/// Return the text of an exception, with the line where it was raised.
fn raised(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = error.value(py).to_string();
    let line = || -> PyResult<u32> {
        let mut at = error.traceback(py).ok_or_else(|| error.clone_ref(py))?.into_any();
        loop {
            let next = at.getattr("tb_next")?;
            if next.is_none() {
                return at.getattr("tb_lineno")?.extract();
            }
            at = next;
        }
    };
    let place = line().map_or_else(|_| String::new(), |line| format!(" in line {line}"));
    format!("raised {name}{place} ({text})")
}

fn counts(v: &View) -> Counts {
    Counts { time_us: v.mstamp_us, delivered: v.delivered, delivered_ce: v.delivered_ce, lost: v.lost }
}

impl CongestionControl for InRounds {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.start = counts(v);
    }

    /// The function decides once a round trip, so that a loss changes nothing here.
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        w.cwnd.max(2)
    }

    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {}

    fn cong_control(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        if let Ok(us @ 1..) = u32::try_from(s.rtt_us) {
            self.rtt_us = Some(self.rtt_us.map_or(us, |least| least.min(us)));
        }
        if v.delivered >= self.ends {
            self.on_round(v, w);
        }
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        self.emitted.iter().for_each(|(name, value)| tell(name, *value));
    }
}

impl BoxedControl for InRounds {
    fn needs(&self) -> Needs {
        Needs { cong_control: true, pacing: self.paced, ..Needs::NOTHING }
    }
}

impl fmt::Debug for InRounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InRounds").field("name", &self.name).finish_non_exhaustive()
    }
}
