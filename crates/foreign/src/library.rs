//! Loading a library and checking its exports.

use std::ffi::{c_char, c_void, CStr, CString};
use std::mem::size_of;
use std::path::Path;
use std::ptr;

use dumbbell_sim::cc::{BoxedControl, Lost, Needs, RateSample, View, Window};
use dumbbell_sim::refusal::Flaws;
use libloading::os::unix;
use serde_json::{Map, Value};

use crate::control::Foreign;
use crate::interface::{self, Control, Entry, Parameter, ABI};

/// The name of the function that a library exports.
const SYMBOL: &CStr = c"dumbbell_cc_v1";
/// Room for a library's reason for an error in parameters, bytes.
const REASON_BYTES: usize = 256;
/// The expected library, in the error about one that does not fit.
const HEADER: &str = "one that is compiled with this version's header (`dumbbell new cc NAME` writes it)";
/// Needs that this version knows. A library with another need is an error.
const KNOWN_NEEDS: u32 = interface::NEEDS_ECN
    | interface::NEEDS_CONG_CONTROL
    | interface::NEEDS_RATE_SAMPLES
    | interface::NEEDS_WHOLE_ACKS
    | interface::NEEDS_PACING
    | interface::NEEDS_LOSSES;

/// A library that is loaded. It stays so until the process ends, as threads of its own may run in it.
#[derive(Debug)]
pub struct Library {
    /// Name in the scenario, for errors.
    pub(crate) name: String,
    pub(crate) control: Control,
}

impl Library {
    /// Load the library at `path`, which errors call `name`. Its initialisers run.
    ///
    /// # Safety
    /// The file is a library that may be run, and its export `dumbbell_cc_v1` is the function that the header declares.
    ///
    /// # Errors
    /// Flaws of the field `library`: it cannot be loaded, or is made for another interface.
    pub unsafe fn open(path: &Path, name: &str) -> Result<&'static Self, Flaws> {
        let flaw = |what: String, expected: &str| Flaws::one("library", format_args!("{name} {what}"), expected);
        // SAFETY: the caller says that it may be run.
        let library = unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_LOCAL) };
        let library =
            library.map_err(|e| flaw(format!("cannot be loaded ({e})"), "a shared library for this machine"))?;
        // SAFETY: the symbol is this function, as the caller says, and the table that it returns stays.
        let table = unsafe {
            let entry = library.get::<Entry>(SYMBOL.to_bytes_with_nul());
            let entry =
                entry.map_err(|_| flaw("exports no dumbbell_cc_v1".into(), "a congestion control for dumbbell"))?;
            entry()
        };
        if table.is_null() {
            return Err(flaw("has no table: dumbbell_cc_v1 returned NULL".into(), "a table"));
        }
        // SAFETY: every table begins with the version. It may be shorter than `Control`, so that no reference to it is made.
        let abi = unsafe { (*table).abi };
        // Nothing beyond the version is read of a table of another one.
        if abi != ABI {
            return Err(flaw(format!("has version {abi} of the interface, not {ABI}"), HEADER));
        }
        // SAFETY: every table of this version has its size.
        let size = unsafe { (*table).control_size };
        if ![size_of::<Control>(), interface::SIZE_WITHOUT_TELL].contains(&(size as usize)) {
            let ours = size_of::<Control>();
            return Err(flaw(format!("has a struct dumbbell_control of {size} bytes, not {ours}"), HEADER));
        }
        // SAFETY: all zeros are a table without functions, and the library has as many bytes as it says.
        let control = unsafe {
            let mut copy: Control = std::mem::zeroed();
            ptr::copy_nonoverlapping(table.cast::<u8>(), (&raw mut copy).cast::<u8>(), size as usize);
            copy
        };
        let sizes = [
            ("view", control.view_size, size_of::<View>()),
            ("window", control.window_size, size_of::<Window>()),
            ("sample", control.sample_size, size_of::<RateSample>()),
            ("lost", control.lost_size, size_of::<Lost>()),
        ];
        if let Some((which, theirs, ours)) = sizes.into_iter().find(|(_, theirs, ours)| *theirs as usize != *ours) {
            return Err(flaw(format!("has a struct dumbbell_{which} of {theirs} bytes, not {ours}"), HEADER));
        }
        complete(&control).map_err(|(what, expected)| flaw(what, expected))?;
        // A loaded library stays loaded.
        std::mem::forget(library);
        Ok(Box::leak(Box::new(Self { name: name.to_owned(), control })))
    }

    /// Make a control for a connection, with the parameters of the scenario.
    ///
    /// # Errors
    /// Parameters that are an error for the library.
    pub fn control(&'static self, parameters: &Map<String, Value>) -> Result<Box<dyn BoxedControl>, Flaws> {
        let mut texts = vec![];
        for (name, value) in parameters {
            let flaw = || Flaws::one(name, value, "a number or a word");
            texts.push((CString::new(name.as_str()).map_err(|_| flaw())?, text(value).ok_or_else(flaw)?));
        }
        let Some(create) = self.control.create else {
            return match parameters.keys().next() {
                Some(name) => Err(Flaws::one(name, "no such parameter", "no parameters")),
                None => Ok(Box::new(Foreign::new(self, ptr::null_mut()))),
            };
        };
        let pairs: Vec<Parameter> =
            texts.iter().map(|(name, value)| Parameter { name: name.as_ptr(), value: value.as_ptr() }).collect();
        let mut reason = [0; REASON_BYTES];
        // SAFETY: the pairs and the room for a reason are there until it returns; the last byte of that stays 0.
        let state: *mut c_void =
            unsafe { create(pairs.as_ptr(), pairs.len(), reason.as_mut_ptr().cast::<c_char>(), REASON_BYTES - 1) };
        if !state.is_null() {
            return Ok(Box::new(Foreign::new(self, state)));
        }
        reason[REASON_BYTES - 1] = 0;
        let reason = CStr::from_bytes_until_nul(&reason).map_or_else(|_| "".into(), CStr::to_string_lossy);
        let reason = if reason.is_empty() { "without a reason".into() } else { reason };
        Err(Flaws::one("", format_args!("{} refuses its parameters: {reason}", self.name), "others"))
    }

    /// Return the needs of its controls.
    pub(crate) fn needs(&self) -> Needs {
        let has = |bit: u32| self.control.needs & bit != 0;
        Needs {
            ecn: has(interface::NEEDS_ECN),
            cong_control: has(interface::NEEDS_CONG_CONTROL),
            rate_samples: has(interface::NEEDS_RATE_SAMPLES),
            losses: has(interface::NEEDS_LOSSES),
            whole_acks: has(interface::NEEDS_WHOLE_ACKS),
            pacing: has(interface::NEEDS_PACING),
            send_windows: match self.control.send_windows {
                0 => Needs::NOTHING.send_windows,
                windows => windows as u8,
            },
            ..Needs::NOTHING
        }
    }
}

/// Check that a table is complete. The error says what it lacks, and what is expected.
fn complete(control: &Control) -> Result<(), (String, &'static str)> {
    let unknown = control.needs & !KNOWN_NEEDS;
    if unknown != 0 {
        return Err((format!("needs {unknown:#x}, which nobody knows"), "DUMBBELL_NEEDS_... of the header"));
    }
    if control.send_windows > u8::MAX.into() {
        return Err((format!("has {} send_windows", control.send_windows), "at most 255"));
    }
    if control.ssthresh.is_none() {
        return Err(("has no ssthresh".into(), "one"));
    }
    let sets_window = control.needs & interface::NEEDS_CONG_CONTROL != 0;
    if sets_window != control.cong_control.is_some() {
        return Err(("has a cong_control, or says so".into(), "both or neither"));
    }
    let hears_losses = control.needs & interface::NEEDS_LOSSES != 0;
    if hears_losses != control.lost.is_some() {
        return Err(("has a function for losses, or says so".into(), "both or neither"));
    }
    if hears_losses && control.needs & interface::NEEDS_RATE_SAMPLES == 0 {
        return Err(("needs losses without rate samples".into(), "both"));
    }
    if !sets_window && control.cong_avoid.is_none() {
        return Err(("has neither cong_avoid nor cong_control".into(), "one of them"));
    }
    Ok(())
}

/// The value of a parameter as text.
fn text(value: &Value) -> Option<CString> {
    let text = match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    CString::new(text).ok()
}
