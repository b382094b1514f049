//! @NAME@: additive increase, multiplicative decrease. The window grows by `increase` segments a round trip, and `beta` percent of it are
//! left after a loss. dumbbell_cc.rs lists all that a congestion control may do.

mod dumbbell_cc;

use std::ffi::{c_char, c_void, CStr};
use std::mem::size_of;
use std::ptr::null_mut;

use dumbbell_cc::{Control, Lost, Parameter, RateSample, View, Window, ABI};

/// State of a connection.
struct Aimd {
    increase: u32,
    beta: u32,
}

impl Aimd {
    /// Make a control with the scenario's parameters; the error is the text that the user reads.
    fn new<'a>(parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut made = Self { increase: 1, beta: 50 };
        for (name, value) in parameters {
            let number: u32 = value.parse().unwrap_or(0);
            match name {
                "increase" if (1..=1000).contains(&number) => made.increase = number,
                "beta" if (1..=99).contains(&number) => made.beta = number,
                _ => return Err(format!("{name} is {value}; increase is 1 to 1000, beta 1 to 99 percent")),
            }
        }
        Ok(made)
    }

    fn ssthresh(&self, window: &Window) -> u32 {
        let left = u64::from(window.cwnd) * u64::from(self.beta) / 100;
        (left as u32).max(2)
    }

    fn cong_avoid(&self, view: &View, window: &mut Window, mut acked: u32) {
        let slow_start = window.cwnd < window.ssthresh;
        // A window that does not limit sending says nothing about the path.
        if !view.is_cwnd_limited && !(slow_start && window.cwnd < 2 * view.max_packets_out) {
            return;
        }
        if slow_start {
            let taken = acked.min(window.ssthresh - window.cwnd);
            window.cwnd += taken;
            acked -= taken;
        }
        window.cwnd_cnt += acked * self.increase;
        while window.cwnd_cnt >= window.cwnd {
            window.cwnd_cnt -= window.cwnd;
            window.cwnd += 1;
        }
    }
}

/// A text of the scenario's.
unsafe fn text<'a>(pointer: *const c_char) -> &'a str {
    CStr::from_ptr(pointer).to_str().unwrap_or("")
}

unsafe extern "C" fn create(parameters: *const Parameter, count: usize, error: *mut c_char, size: usize) -> *mut c_void {
    let given = (0..count).map(|i| &*parameters.add(i));
    match Aimd::new(given.map(|each| (text(each.name), text(each.value)))) {
        Ok(made) => Box::into_raw(Box::new(made)).cast(),
        Err(why) => {
            let length = why.len().min(size - 1);
            error.copy_from_nonoverlapping(why.as_ptr().cast(), length);
            *error.add(length) = 0;
            null_mut()
        }
    }
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    drop(Box::from_raw(state.cast::<Aimd>()));
}

unsafe extern "C" fn ssthresh(state: *mut c_void, _: &View, window: &Window) -> u32 {
    (*state.cast::<Aimd>()).ssthresh(window)
}

unsafe extern "C" fn cong_avoid(state: *mut c_void, view: &View, window: &mut Window, acked: u32) {
    (*state.cast::<Aimd>()).cong_avoid(view, window, acked);
}

static CONTROL: Control = Control {
    abi: ABI,
    control_size: size_of::<Control>() as u32,
    view_size: size_of::<View>() as u32,
    window_size: size_of::<Window>() as u32,
    sample_size: size_of::<RateSample>() as u32,
    lost_size: size_of::<Lost>() as u32,
    needs: 0,
    send_windows: 0,
    create: Some(create),
    destroy: Some(destroy),
    init: None,
    ssthresh: Some(ssthresh),
    cong_avoid: Some(cong_avoid),
    cong_control: None,
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
