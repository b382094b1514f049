//! A line that carries one packet at a time, whichever port sends it, as a half-duplex cable does. Ports take turns, packet by packet.

use super::{Shared, SharedMedia, Station};
use crate::refusal::Flaws;
use crate::time::{serialisation, Time};

/// A line.
#[derive(Debug)]
pub struct SharedLine {
    rate_bps: u64,
    /// Time at which the line is free.
    free_at: Time,
    /// For each port: true if it waits for the line.
    waits: Vec<bool>,
    /// The port that sent last.
    last: usize,
}

impl SharedLine {
    /// One more port of the line with this name.
    ///
    /// # Errors
    /// A rate that is not that of the other ports.
    pub fn join(lines: &mut SharedMedia<Self>, name: &str, rate_bps: u64) -> Result<Station<Self>, Flaws> {
        let station = lines.join(name, || Self { rate_bps, free_at: 0, waits: vec![], last: 0 });
        let rate = station.look(|line| line.rate_bps);
        if rate != rate_bps {
            let what = format_args!("{rate_bps} bit/s on the line {name:?}, which other ports share");
            return Err(Flaws::one("rate_bps", what, rate));
        }
        Ok(station)
    }

    /// The port among those that wait whose turn is next.
    fn next(&self) -> Option<usize> {
        let ports = self.waits.len();
        (1..=ports).map(|i| (self.last + i) % ports).find(|&port| self.waits[port])
    }
}

impl Shared for SharedLine {
    fn join(&mut self) -> usize {
        self.waits.push(false);
        self.waits.len() - 1
    }

    fn ask(&mut self, port: usize, now: Time) -> Option<Time> {
        self.waits[port] = true;
        if self.free_at > now {
            return Some(self.free_at);
        }
        // Another port whose turn it is asks at this time, too: it then has the line, or has found nothing to send.
        (self.next() != Some(port)).then_some(now + 1)
    }

    fn send(&mut self, port: usize, bytes: u32, now: Time) {
        self.free_at = now + serialisation(u64::from(bytes), self.rate_bps);
        (self.last, self.waits[port]) = (port, false);
    }

    fn rest(&mut self, port: usize) {
        self.waits[port] = false;
    }

    fn out(&self) -> Time {
        self.free_at
    }

    fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }
}

#[cfg(test)]
mod tests {
    use super::{SharedLine, SharedMedia, Station};

    /// 1,000 bytes take 1 us.
    fn three() -> [Station<SharedLine>; 3] {
        let mut lines = SharedMedia::default();
        [(); 3].map(|()| SharedLine::join(&mut lines, "air", 8_000_000_000).unwrap())
    }

    #[test]
    fn ports_take_turns_and_none_of_them_waits_for_one_that_has_nothing_to_send() {
        let [a, b, c] = three();
        assert_eq!(a.ask(5), None);
        a.send(1000, 5);
        assert_eq!([&a, &b, &c].map(|port| (port.ask(6), port.out())), [(Some(1005), 1005); 3]);
        // The port that sent last asks first, and comes last.
        assert_eq!((a.ask(1005), c.ask(1005), b.ask(1005)), (Some(1006), Some(1006), None));
        b.send(500, 1005);
        assert_eq!([&a, &c].map(|port| port.ask(1006)), [Some(1505); 2]);
        c.rest();
        assert_eq!(a.ask(1505), None);
        a.send(1000, 1505);
        assert_eq!(a.ask(9000), None, "the line is free, and nobody else waits for it");
    }

    #[test]
    fn ports_share_a_line_by_name_and_it_has_one_rate() {
        let mut lines = SharedMedia::default();
        let [a, b] = ["left", "right"].map(|name| SharedLine::join(&mut lines, name, 8_000_000_000).unwrap());
        a.send(1000, 0);
        assert_eq!((a.ask(0), b.ask(0)), (Some(1000), None));
        assert_eq!(SharedLine::join(&mut lines, "left", 1).unwrap_err().fields(), ["rate_bps"]);
    }
}
