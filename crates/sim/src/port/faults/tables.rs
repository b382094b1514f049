//! The distributions of jitter that tc loads into netem, by the formulae of their generators (iproute2 6.1 netem/normal.c, pareto.c,
//! paretonormal.c). A table is an inverse distribution function: entry `i` of `n` is the deviation that a share `i / n` of all does not
//! exceed, in 8192ths.

/// An entry of 1.
pub(super) const SCALE: i64 = 8192;

/// Points of the distribution that the generators compute; a table has every fourth.
const POINTS: usize = 16_384;
const EVERY: usize = 4;
/// Shape of the Pareto distribution.
const SHAPE: f64 = 3.0;
/// Steps in which the normal distribution is looked through.
const STEP: f64 = 0.000_05;
/// Start of the look through the distribution, and the deviation beyond which all deviations count as the first or the last point.
const FIRST: f64 = -10.0;
const RARE: f64 = 4.2;

/// The normal distribution.
#[must_use]
pub fn normal() -> Vec<i16> {
    deviations().map(|x| entry(x * SCALE as f64)).collect()
}

/// The Pareto distribution, with a mean of 0 and a deviation that the generator takes for 1.
#[must_use]
pub fn pareto() -> Vec<i16> {
    (0..POINTS / EVERY).map(|i| entry(heavy(i * EVERY))).collect()
}

/// A quarter of a normal and three of a Pareto distribution.
#[must_use]
pub fn paretonormal() -> Vec<i16> {
    let points = deviations().zip((0..POINTS).step_by(EVERY));
    points.map(|(x, i)| ((libm::rint(x * SCALE as f64) as i64 + 3 * i64::from(entry(heavy(i)))) / 4) as i16).collect()
}

/// The deviation at point `i` of the Pareto distribution.
fn heavy(i: usize) -> f64 {
    let share = (65_536 - 4 * i) as f64 / 65_536.0;
    (1.0 / libm::pow(share, 1.0 / SHAPE) - 1.5) * (4.0 / 3.0) * SCALE as f64
}

/// The deviation at every fourth point of the normal distribution: the largest that rounds to the point.
fn deviations() -> impl Iterator<Item = f64> {
    let mut points = vec![0.0; POINTS + 1];
    let mut x = FIRST;
    // The steps are added up as the generator does it, so that rounding errors are the same.
    while x < RARE {
        if x > -RARE {
            let below = 0.5 + 0.5 * libm::erf(x / std::f64::consts::SQRT_2);
            points[libm::rint(POINTS as f64 * below) as usize] = x;
        }
        x += STEP;
    }
    points.truncate(POINTS);
    points.into_iter().step_by(EVERY)
}

fn entry(deviation: f64) -> i16 {
    libm::rint(deviation).min(f64::from(i16::MAX)) as i16
}
