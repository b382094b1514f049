//! Requests and responses over a connection, one at a time (as HTTP/1.1 uses connections that it keeps alive, RFC 9112 section 9.3, without
//! pipelining): the client writes a request, the server, having read all of it, writes the response.

use super::session::{Act, Side};
use crate::outbox::Outbox;

/// The requests over one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requests {
    /// Bytes of all requests so far, and of all responses to them.
    asked: u64,
    answered: u64,
    /// Bytes of the response that the server has not begun to write; 0 if it has begun.
    owed: u64,
}

impl Requests {
    /// The client of connection `which` asks for a response of this many bytes.
    pub fn ask(&mut self, which: usize, request: u64, response: u64, act: &mut Act<'_, impl Outbox>) {
        self.asked += request;
        self.answered += response;
        self.owed = response;
        act.write(which, Side::From, request);
    }

    /// One end has read this many bytes in all: the server answers. Return true if that is the last byte of a response.
    pub fn on_read(&mut self, which: usize, side: Side, bytes: u64, act: &mut Act<'_, impl Outbox>) -> bool {
        if side == Side::From {
            return bytes == self.answered;
        }
        if bytes == self.asked && self.owed > 0 {
            act.write(which, Side::To, std::mem::take(&mut self.owed));
        }
        false
    }
}
