//! Playback of chunks that come over the network, as a viewer sees it: when playing begins, when it stalls and for how long, and how much
//! is in the buffer. It depends only on the arrival times of chunks, so that this one routine judges the runs of every engine.

use crate::time::Time;

/// A player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    /// Playing time of a chunk, ns.
    pub chunk_ns: Time,
    /// Playing time that must be in the buffer before the player starts, at first and after a stall, ns.
    pub start_at_ns: Time,
    /// Chunks in all; `None`: there is no end.
    pub chunks: Option<u64>,
}

/// Totals of a playback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Viewed {
    /// Time from when the viewer wanted to see something until playing began, ns; `None` if playing did not begin.
    pub startup_ns: Option<Time>,
    /// Number of times that the buffer ran empty before the end.
    pub stalls: u64,
    /// For how long in all, ns.
    pub stalled_ns: Time,
}

/// A player that is being used.
#[derive(Clone, Copy, Debug)]
pub struct Playback {
    player: Player,
    start: Time,
    now: Time,
    /// Chunks that came.
    chunks: u64,
    /// Played so far, ns.
    played: Time,
    is_playing: bool,
    /// Start of the present stall, if it has stalled.
    stalled_since: Option<Time>,
    viewed: Viewed,
}

impl Playback {
    /// Someone wants to see something from `start` on, and no chunk has come.
    #[must_use]
    pub fn new(player: Player, start: Time) -> Self {
        let viewed = Viewed::default();
        Self { player, start, now: start, chunks: 0, played: 0, is_playing: false, stalled_since: None, viewed }
    }

    /// Return the player.
    #[must_use]
    pub fn player(&self) -> Player {
        self.player
    }

    /// In the buffer, ns of playing time.
    #[must_use]
    pub fn level(&self) -> Time {
        self.chunks * self.player.chunk_ns - self.played
    }

    fn has_all(&self) -> bool {
        self.player.chunks.is_some_and(|all| self.chunks >= all)
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Time) {
        let passed = now - self.now;
        if self.is_playing {
            let played = passed.min(self.level());
            self.played += played;
            if played < passed {
                self.is_playing = false;
                if !self.has_all() {
                    self.viewed.stalls += 1;
                    self.stalled_since = Some(self.now + played);
                }
            }
        }
        self.now = now;
    }

    /// A chunk has come whole.
    pub fn add_chunk(&mut self, now: Time) {
        self.advance(now);
        self.chunks += 1;
        if self.is_playing || (self.level() < self.player.start_at_ns && !self.has_all()) {
            return;
        }
        self.is_playing = true;
        if let Some(since) = self.stalled_since.take() {
            self.viewed.stalled_ns += now - since;
        }
        self.viewed.startup_ns.get_or_insert(now - self.start);
    }

    /// Return the time until there is room for another chunk in a buffer of `most`, ns. A player that does not play yet has room at once.
    #[must_use]
    pub fn until_room(&self, most: Time) -> Time {
        (self.level() + self.player.chunk_ns).saturating_sub(most)
    }

    /// Return the totals at `now`.
    #[must_use]
    pub fn viewed(&self, now: Time) -> Viewed {
        let mut at_end = *self;
        at_end.advance(now);
        let lasting = at_end.stalled_since.map_or(0, |since| now - since);
        Viewed { stalled_ns: at_end.viewed.stalled_ns + lasting, ..at_end.viewed }
    }
}

/// Return the totals at `end` of a player whose chunks came at the times `chunks`, and the level of its buffer at each of the times `at`,
/// s. Both lists are in order.
#[must_use]
pub fn view(player: Player, start: Time, chunks: &[Time], end: Time, at: &[Time]) -> (Viewed, Vec<f64>) {
    let (mut playback, mut chunks) = (Playback::new(player, start), chunks.iter().copied().peekable());
    let mut let_pass = |playback: &mut Playback, until: Time| {
        while let Some(chunk) = chunks.next_if(|&chunk| chunk <= until) {
            playback.add_chunk(chunk);
        }
        playback.advance(until);
    };
    let mut levels = Vec::with_capacity(at.len());
    for &time in at {
        let_pass(&mut playback, time);
        levels.push(playback.level() as f64 / 1e9);
    }
    let_pass(&mut playback, end);
    (playback.viewed(end), levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SEC;

    const PLAYER: Player = Player { chunk_ns: 4 * SEC, start_at_ns: 8 * SEC, chunks: None };

    #[test]
    fn playing_begins_with_enough_and_stalls_without() {
        // 8 s are there at 3 s; they are played by 11 s; the next two come at 12 and 15 s.
        let chunks = [SEC, 3 * SEC, 12 * SEC, 15 * SEC];
        let (viewed, levels) = view(PLAYER, SEC / 2, &chunks, 20 * SEC, &[SEC, 3 * SEC, 5 * SEC, 12 * SEC, 16 * SEC]);
        assert_eq!(viewed, Viewed { startup_ns: Some(5 * SEC / 2), stalls: 1, stalled_ns: 4 * SEC });
        assert_eq!(levels, [4.0, 8.0, 6.0, 4.0, 7.0]);
    }

    #[test]
    fn a_stall_that_lasts_counts_up_to_the_end() {
        let (viewed, _) = view(PLAYER, 0, &[SEC, 2 * SEC], 15 * SEC, &[]);
        assert_eq!(viewed, Viewed { startup_ns: Some(2 * SEC), stalls: 1, stalled_ns: 5 * SEC });
        let (viewed, _) = view(PLAYER, 0, &[SEC], 15 * SEC, &[]);
        assert_eq!(viewed, Viewed::default());
    }

    #[test]
    fn the_end_is_no_stall_and_is_played_however_little_it_is() {
        let player = Player { chunks: Some(3), ..PLAYER };
        let (viewed, levels) = view(player, 0, &[SEC, 2 * SEC, 14 * SEC], 30 * SEC, &[16 * SEC, 30 * SEC]);
        assert_eq!(viewed, Viewed { startup_ns: Some(2 * SEC), stalls: 1, stalled_ns: 4 * SEC });
        assert_eq!(levels, [2.0, 0.0]);
    }

    #[test]
    fn a_chunk_that_comes_as_the_buffer_runs_empty_is_in_time() {
        let (viewed, _) = view(PLAYER, 0, &[0, 0, 8 * SEC], 12 * SEC, &[]);
        assert_eq!(viewed, Viewed { startup_ns: Some(0), stalls: 0, stalled_ns: 0 });
    }

    #[test]
    fn room_comes_with_playing() {
        let mut playback = Playback::new(PLAYER, 0);
        [SEC, 2 * SEC].iter().for_each(|&at| playback.add_chunk(at));
        assert_eq!(playback.until_room(12 * SEC), 0);
        playback.add_chunk(3 * SEC);
        assert_eq!(playback.until_room(12 * SEC), 3 * SEC);
    }
}
