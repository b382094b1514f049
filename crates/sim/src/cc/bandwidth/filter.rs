//! The largest value of a sliding window, from three samples (Linux 6.12 lib/win_minmax.c): it may be too low once the largest has left the window,
//! as only samples of the second quarter and of the second half are kept beside it.

/// Windowed maximum; times are counted in whatever the window is.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct WindowedMax {
    samples: [(u32, u32); 3],
}

impl WindowedMax {
    /// The maximum.
    pub fn get(&self) -> u32 {
        self.samples[0].1
    }

    /// Takes a sample at time `t`; samples older than `window` do not count.
    pub fn update(&mut self, window: u32, t: u32, value: u32) {
        let s = &mut self.samples;
        if value >= s[0].1 || t.wrapping_sub(s[2].0) > window {
            *s = [(t, value); 3];
            return;
        }
        if value >= s[1].1 {
            (s[1], s[2]) = ((t, value), (t, value));
        } else if value >= s[2].1 {
            s[2] = (t, value);
        }
        let age = t.wrapping_sub(s[0].0);
        if age > window {
            *s = [s[1], s[2], (t, value)];
            if t.wrapping_sub(s[0].0) > window {
                *s = [s[1], s[2], (t, value)];
            }
        } else if s[1].0 == s[0].0 && age > window / 4 {
            (s[1], s[2]) = ((t, value), (t, value));
        } else if s[2].0 == s[1].0 && age > window / 2 {
            s[2] = (t, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_three_samples_and_no_more() {
        let mut max = WindowedMax::default();
        let values: Vec<u32> = [(0, 100), (1, 90), (3, 80), (6, 70), (10, 60), (11, 50), (14, 40)]
            .map(|(t, value)| {
                max.update(10, t, value);
                max.get()
            })
            .to_vec();
        // At 11 the 100 is too old; the 90 was forgotten for the 80 of the second quarter, and that at 14 for the 70 of the second half.
        assert_eq!(values, [100, 100, 100, 100, 100, 80, 70]);
    }

    #[test]
    fn a_new_largest_or_a_gap_forgets_all() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        max.update(10, 4, 100);
        max.update(10, 14, 1);
        assert_eq!(max.get(), 100, "ten rounds old is not older than ten");
        max.update(10, 15, 1);
        assert_eq!(max.get(), 1);
    }
}
