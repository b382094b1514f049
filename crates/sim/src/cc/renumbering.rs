//! How the numbers of a sender's segments move when one is added or goes, as only those of a stream do.

/// A segment came in between, or one went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renumbering {
    /// Numbers above this one move.
    above: u32,
    /// Up if true, else down.
    up: bool,
}

impl Renumbering {
    /// The segment after `seq` is new.
    #[must_use]
    pub fn added(seq: u32) -> Self {
        Self { above: seq, up: true }
    }

    /// Segment `seq` has taken in the one after it.
    #[must_use]
    pub fn joined(seq: u32) -> Self {
        Self { above: seq + 1, up: false }
    }

    /// The segment behind which one is new, or has gone.
    #[must_use]
    pub fn segment(self) -> u32 {
        if self.up {
            self.above
        } else {
            self.above - 1
        }
    }

    /// True if a segment is new.
    #[must_use]
    pub fn is_addition(self) -> bool {
        self.up
    }

    /// The number of a segment, or of the first one beyond something, afterwards. The largest number is none.
    pub fn apply(self, number: &mut u32) {
        if *number > self.above && *number < u32::MAX {
            *number = if self.up { *number + 1 } else { *number - 1 };
        }
    }

    /// Moves a mark that something lies beyond once all of its segment is acknowledged: the beginning of a segment that is joined to the one before lies
    /// within that from then on. See [`Self::apply`].
    pub fn apply_to_mark(self, number: &mut u32) {
        if !self.up && *number == self.above {
            *number -= 1;
        } else {
            self.apply(number);
        }
    }

    /// Moves a flag of a segment: if the segment is cut apart, the flag goes to the rest; if it is joined, to the joined one. See [`Self::apply`].
    pub fn apply_to_flag(self, number: &mut u32) {
        if self.up && *number == self.above {
            *number += 1;
        } else if !self.up && *number == self.above {
            *number -= 1;
        } else {
            self.apply(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};
    use crate::cc::{CongestionControl, Event, CONTROLS};

    /// A round trip in which a window is always outstanding; the window after each ACK. When half of it has come a segment that is outstanding is cut
    /// into pieces, so that what lies behind has higher numbers. What is acknowledged counts as the same: only the numbers differ.
    fn round_of_renumbered(lab: &mut Lab, cuts: u32) -> Vec<(u32, u32)> {
        let window = lab.w.cwnd;
        let (mut cut, mut ahead) = (u32::MAX, 0);
        (lab.v.packets_out, lab.v.max_packets_out) = (window, window);
        let step = |ack| {
            if ack == window / 2 {
                (cut, ahead) = (lab.v.snd_una + window / 8, cuts);
                for _ in 0..cuts {
                    lab.v.snd_nxt += 1;
                    lab.event(Event::Renumbered(Renumbering::added(cut)));
                }
            }
            lab.pass(lab.rtt_us / u64::from(window));
            if lab.v.snd_una == cut {
                lab.v.snd_una += std::mem::take(&mut ahead);
            }
            lab.ack(1);
            lab.v.snd_nxt = lab.v.snd_una + lab.w.cwnd + ahead;
            lab.cc.on_sent(&lab.v, &mut lab.w, 1);
            (lab.w.cwnd, lab.w.ssthresh)
        };
        (0..window).map(step).collect()
    }

    #[test]
    fn what_controls_remember_of_numbers_moves_with_them() {
        let windows = |control, cuts: u32| {
            let mut lab = Lab::new(made(control, &json!({})), 40);
            let round = |round: u64| {
                lab.rtt_us = 40_000 + 2000 * (round % 7);
                round_of_renumbered(&mut lab, cuts)
            };
            (0..60).flat_map(round).collect::<Vec<_>>()
        };
        let stays = CONTROLS.iter().filter(|control| windows(control, 7) != windows(control, 0));
        assert_eq!(stays.map(|control| control.name).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    fn moved(r: Renumbering, apply: fn(Renumbering, &mut u32)) -> Vec<u32> {
        let mut numbers = vec![4, 5, 6, 7, u32::MAX];
        numbers.iter_mut().for_each(|number| apply(r, number));
        numbers
    }

    #[test]
    fn what_lies_behind_moves_and_a_flag_goes_with_its_last_byte() {
        let (added, joined) = (Renumbering::added(5), Renumbering::joined(5));
        assert_eq!(moved(added, Renumbering::apply), [4, 5, 7, 8, u32::MAX]);
        assert_eq!(moved(joined, Renumbering::apply), [4, 5, 6, 6, u32::MAX]);
        assert_eq!(moved(added, Renumbering::apply_to_mark), [4, 5, 7, 8, u32::MAX]);
        assert_eq!(moved(joined, Renumbering::apply_to_mark), [4, 5, 5, 6, u32::MAX]);
        assert_eq!(moved(added, Renumbering::apply_to_flag), [4, 6, 7, 8, u32::MAX]);
        assert_eq!(moved(joined, Renumbering::apply_to_flag), [4, 5, 5, 6, u32::MAX]);
        assert_eq!([added.segment(), joined.segment()], [5, 5]);
    }
}
