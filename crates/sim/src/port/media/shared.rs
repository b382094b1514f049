//! A medium that several ports share, as the stations of a radio cell share the air: each port keeps the packets that wait in a queue
//! discipline of its own, and asks the medium before it takes one out. Nobody tells a port that the medium is free: a port that waits asks
//! again at the time that the medium has said.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::time::Time;

/// A medium for several ports, which counts them from 0. Dispatched statically: a [`Station`] is of one kind of medium.
pub trait Shared {
    /// One more port has this medium. Return its number.
    fn join(&mut self) -> usize;
    /// A port has a packet to send. Return when it may ask again, or `None` if it may send now.
    fn ask(&mut self, port: usize, now: Time) -> Option<Time>;
    /// A port that may send now sends so many bytes.
    fn send(&mut self, port: usize, bytes: u32, now: Time);
    /// A port has nothing to send for the time being.
    fn rest(&mut self, port: usize);
    /// Return when the last bit that a port has sent is out.
    fn out(&self) -> Time;
    /// The rate changes, bit/s.
    fn set_rate(&mut self, rate_bps: u64);
}

/// A port of a shared medium.
#[derive(Debug)]
pub struct Station<M> {
    medium: Rc<RefCell<M>>,
    port: usize,
}

impl<M: Shared> Station<M> {
    /// See [`Shared::ask`].
    pub fn ask(&self, now: Time) -> Option<Time> {
        self.medium.borrow_mut().ask(self.port, now)
    }

    /// See [`Shared::send`].
    pub fn send(&self, bytes: u32, now: Time) {
        self.medium.borrow_mut().send(self.port, bytes, now);
    }

    /// See [`Shared::rest`].
    pub fn rest(&self) {
        self.medium.borrow_mut().rest(self.port);
    }

    /// See [`Shared::out`].
    #[must_use]
    pub fn out(&self) -> Time {
        self.medium.borrow().out()
    }

    /// See [`Shared::set_rate`].
    pub fn set_rate(&self, rate_bps: u64) {
        self.medium.borrow_mut().set_rate(rate_bps);
    }
}

impl<M> Station<M> {
    /// Looks at the medium.
    pub fn look<T>(&self, at: impl FnOnce(&M) -> T) -> T {
        at(&self.medium.borrow())
    }
}

/// The shared media of a kind by name.
#[derive(Debug)]
pub struct SharedMedia<M>(BTreeMap<String, Rc<RefCell<M>>>);

impl<M> Default for SharedMedia<M> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<M: Shared> SharedMedia<M> {
    /// One more port of the medium with this name, which `make` makes for the first port.
    pub fn join(&mut self, name: &str, make: impl FnOnce() -> M) -> Station<M> {
        let medium = self.0.entry(name.to_owned()).or_insert_with(|| Rc::new(RefCell::new(make())));
        let port = medium.borrow_mut().join();
        Station { medium: Rc::clone(medium), port }
    }
}
