//! A control that keeps a short queue: it paces at the window an RTT, and aims at `target_us` of queueing above the minimum RTT. All in one file:
//!
//!     rustc -O --crate-type cdylib -o delay.so delay.rs
//!
//! `target_us` is 5000 unless the scenario says otherwise: `cc: {library: ./delay.so, target_us: 2000}`.

#[path = "../../dumbbell/templates/cc/dumbbell_cc.rs"]
mod dumbbell_cc;

use std::ffi::{c_char, c_void, CStr};
use std::mem::size_of;
use std::ptr::null_mut;

use dumbbell_cc::{Control, Lost, Parameter, RateSample, View, Window, ABI, NEEDS_CONG_CONTROL, NEEDS_PACING};

/// Segments below which the window does not go.
const LEAST: u32 = 4;
/// Payload and headers of a segment beyond the payload, bytes.
const HEADERS: u64 = 66;

/// State of a connection.
struct Delay {
    target_us: u32,
    /// The round trip is over once so many segments are delivered.
    round_ends: u32,
    /// Least RTT of the round, us.
    round_rtt_us: u32,
    /// Nothing was queued or lost yet.
    starting: bool,
}

impl Delay {
    fn on_ack(&mut self, view: &View, window: &mut Window, sample: &RateSample) {
        if sample.rtt_us > 0 {
            self.round_rtt_us = self.round_rtt_us.min(sample.rtt_us as u32);
        }
        if sample.losses > 0 {
            self.starting = false;
        }
        if view.delivered >= self.round_ends && self.round_rtt_us != u32::MAX {
            self.on_round(view, window);
        }
        let rtt_us = u64::from(view.srtt_us8 / 8).max(1);
        let bytes = u64::from(window.cwnd) * (u64::from(view.mss) + HEADERS);
        // A little faster than the window alone would, so that the window decides.
        window.pacing_rate = (bytes * 1_200_000 / rtt_us).max(1);
    }

    /// A round trip is over: half of the way to the window that would leave the queue at its target.
    fn on_round(&mut self, view: &View, window: &mut Window) {
        let queued_us = self.round_rtt_us.saturating_sub(view.min_rtt_us);
        self.starting &= queued_us <= self.target_us;
        if self.starting {
            window.cwnd = (window.cwnd * 2).min(1 << 20);
        } else {
            let aim = u64::from(view.min_rtt_us) + u64::from(self.target_us);
            let there = (u64::from(window.cwnd) * aim / u64::from(self.round_rtt_us)) as u32;
            window.cwnd = ((window.cwnd + there) / 2 + 1).clamp(LEAST, 1 << 20);
        }
        window.ssthresh = window.cwnd;
        self.round_ends = view.delivered + view.packets_out.max(1);
        self.round_rtt_us = u32::MAX;
    }
}

unsafe extern "C" fn create(parameters: *const Parameter, count: usize, error: *mut c_char, size: usize) -> *mut c_void {
    let mut made = Delay { target_us: 5000, round_ends: 1, round_rtt_us: u32::MAX, starting: true };
    for parameter in (0..count).map(|i| &*parameters.add(i)) {
        let [name, value] = [parameter.name, parameter.value].map(|text| CStr::from_ptr(text).to_str().unwrap_or(""));
        match (name, value.parse()) {
            ("target_us", Ok(us @ 1..=1_000_000)) => made.target_us = us,
            _ => {
                let why = format!("{name} is {value}; target_us is 1 to 1000000");
                let length = why.len().min(size - 1);
                error.copy_from_nonoverlapping(why.as_ptr().cast(), length);
                *error.add(length) = 0;
                return null_mut();
            }
        }
    }
    Box::into_raw(Box::new(made)).cast()
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    drop(Box::from_raw(state.cast::<Delay>()));
}

unsafe extern "C" fn ssthresh(_: *mut c_void, _: &View, window: &Window) -> u32 {
    window.cwnd.max(2)
}

unsafe extern "C" fn cong_control(state: *mut c_void, view: &View, window: &mut Window, sample: &RateSample) {
    (*state.cast::<Delay>()).on_ack(view, window, sample);
}

static CONTROL: Control = Control {
    abi: ABI,
    control_size: size_of::<Control>() as u32,
    view_size: size_of::<View>() as u32,
    window_size: size_of::<Window>() as u32,
    sample_size: size_of::<RateSample>() as u32,
    lost_size: size_of::<Lost>() as u32,
    needs: NEEDS_CONG_CONTROL | NEEDS_PACING,
    send_windows: 3,
    create: Some(create),
    destroy: Some(destroy),
    init: None,
    ssthresh: Some(ssthresh),
    cong_avoid: None,
    cong_control: Some(cong_control),
    undo_cwnd: None,
    event: None,
    pkts_acked: None,
    ack: None,
    lost: None,
    sent: None,
    tell: None,
};

/// The entry point that dumbbell calls.
#[no_mangle]
pub extern "C" fn dumbbell_cc_v1() -> *const Control {
    &CONTROL
}
