//! Congestion controls of the user's own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use dumbbell_foreign::Library;
use dumbbell_sim::cc::{BoxedControl, CongestionControl, View, Window};
use dumbbell_sim::refusal::Flaws;
use serde_json::{Map, Value};

use crate::rounds::{Function, InRounds};

/// Key of a plan that names a library.
const LIBRARY: &str = "library";
/// Key of a plan that names a function of Python's.
const FUNCTION: &str = "function";

/// Return a congestion control, or the error in its parameters; `None` if nobody has it.
type Made = Option<Result<Box<dyn BoxedControl>, Flaws>>;

/// The controls of a run. A library is loaded when the first connection asks for it.
#[derive(Default)]
pub struct Own {
    /// Paths of the libraries that may be loaded, by their names in the plan.
    paths: HashMap<String, PathBuf>,
    /// Functions in Python, by number.
    functions: HashMap<u64, Function>,
    loaded: RefCell<HashMap<String, &'static Library>>,
}

impl Own {
    /// These libraries and functions.
    pub fn new(paths: HashMap<String, PathBuf>, functions: HashMap<u64, Function>) -> Self {
        Self { paths, functions, ..Self::default() }
    }

    /// The control that a plan calls `kind`.
    pub fn control(&self, kind: &str, given: &Map<String, Value>) -> Made {
        if let Some(number) = given.get(FUNCTION) {
            let function = number.as_u64().and_then(|number| self.functions.get(&number));
            let missing = || Flaws::one(FUNCTION, format_args!("{kind} is not there"), "a function of this process");
            return Some(function.ok_or_else(missing).and_then(|function| {
                let made = InRounds::new(function)
                    .map_err(|error| Flaws::one("", format_args!("{kind}: {error}"), "a congestion control"));
                made.map(|made| Box::new(made) as Box<dyn BoxedControl>)
            }));
        }
        let hash = given.get(LIBRARY)?.as_str()?;
        Some(self.library(kind, hash).and_then(|library| {
            let mut parameters = given.clone();
            parameters.remove(LIBRARY);
            library.control(&parameters)
        }))
    }

    fn library(&self, kind: &str, hash: &str) -> Result<&'static Library, Flaws> {
        if let Some(library) = self.loaded.borrow().get(hash) {
            return Ok(library);
        }
        let Some(path) = self.paths.get(hash) else {
            return Err(Flaws::one(LIBRARY, format_args!("{kind} may not be loaded"), "that loading it is allowed"));
        };
        // SAFETY: the user who allows to load the library promises that it may be run, and that it is what it says.
        let library = unsafe { Library::open(path, kind) }?;
        self.loaded.borrow_mut().insert(hash.to_owned(), library);
        Ok(library)
    }
}

/// Stands in for a control of the user's own while a plan is checked.
#[derive(Debug)]
struct Unloaded;

impl CongestionControl for Unloaded {
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        w.ssthresh
    }
    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {}
}

impl BoxedControl for Unloaded {}

/// A stand-in for the user's own controls: no library is loaded and no function called.
pub fn unloaded(_: &str, given: &Map<String, Value>) -> Made {
    [LIBRARY, FUNCTION]
        .iter()
        .any(|own| given.contains_key(*own))
        .then(|| Ok(Box::new(Unloaded) as Box<dyn BoxedControl>))
}
