//! Moments and quantiles of draws, compared with theory.

use proptest::prelude::*;
use serde_json::{json, Value};

use super::Distribution;
use crate::rng::Rng;
use crate::spec::DistributionSpec;

const COUNT: usize = 200_000;

fn distribution(spec: Value) -> Distribution {
    Distribution::build(&serde_json::from_value(spec).expect("as a plan has it")).expect("a distribution")
}

fn draws(spec: Value, count: usize) -> Vec<u64> {
    let (distribution, mut rng) = (distribution(spec), Rng::for_component(1, "workload/w"));
    (0..count).map(|_| distribution.draw(&mut rng)).collect()
}

fn flaws(spec: Value) -> String {
    let spec: DistributionSpec = serde_json::from_value(spec).expect("as a plan has it");
    format!("{:?}", Distribution::build(&spec).expect_err("no distribution"))
}

/// Check that the mean of many draws is within 4 standard errors of `mean`.
fn assert_mean(draws: &[u64], mean: f64, deviation: f64) {
    let found = draws.iter().map(|&draw| draw as f64).sum::<f64>() / draws.len() as f64;
    let error = deviation / (draws.len() as f64).sqrt();
    assert!((found + 0.5 - mean).abs() < 4.0 * error + 1.0, "{found}, expected {mean} +- {error}");
}

/// The share of draws that are at most `value`.
fn at_most(draws: &[u64], value: f64) -> f64 {
    draws.iter().filter(|&&draw| draw as f64 <= value).count() as f64 / draws.len() as f64
}

fn assert_shares(draws: &[u64], expected: &[(f64, f64)]) {
    for &(value, share) in expected {
        let found = at_most(draws, value);
        // The standard deviation of a share is at most 0.0011.
        assert!((found - share).abs() < 0.005, "{found} up to {value}, expected {share}");
    }
}

#[test]
fn exponential_numbers_have_their_mean_and_their_tail() {
    let found = draws(json!({"kind": "exponential", "mean": 1_000_000}), COUNT);
    assert_mean(&found, 1e6, 1e6);
    assert_shares(&found, &[(0.5e6, 0.3935), (1e6, 0.6321), (2e6, 0.8647), (4e6, 0.9817)]);
}

#[test]
fn uniform_numbers_are_whole_and_reach_both_ends() {
    let found = draws(json!({"kind": "uniform", "low": 10, "high": 14}), COUNT);
    for value in 10..=14 {
        let share = found.iter().filter(|&&draw| draw == value).count() as f64 / COUNT as f64;
        assert!((share - 0.2).abs() < 0.005, "{share} of {value}");
    }
    let widest = draws(json!({"kind": "uniform", "low": 0, "high": u64::MAX}), COUNT);
    assert_shares(&widest, &[(u64::MAX as f64 / 4.0, 0.25), (u64::MAX as f64 / 2.0, 0.5)]);
}

#[test]
fn lognormal_numbers_have_their_median_and_their_mean() {
    let (median, sigma) = (50_000.0, 1.0_f64);
    let found = draws(json!({"kind": "lognormal", "median": median as u64, "sigma": sigma}), COUNT);
    let mean = median * (sigma * sigma / 2.0).exp();
    assert_mean(&found, mean, mean * ((sigma * sigma).exp() - 1.0).sqrt());
    // In a normal distribution 15.87, 50 and 97.72 % of the values are below -1, 0 and 2 standard deviations.
    let quantile = |z: f64| median * (sigma * z).exp();
    assert_shares(&found, &[(quantile(-1.0), 0.1587), (quantile(0.0), 0.5), (quantile(2.0), 0.9772)]);
}

#[test]
fn pareto_numbers_end_where_they_are_cut_off() {
    let (shape, least, most) = (1.2_f64, 1_000.0_f64, 10_000_000.0_f64);
    let found = draws(json!({"kind": "pareto", "shape": shape, "least": 1_000, "most": 10_000_000}), COUNT);
    assert!(found.iter().all(|draw| (1_000..=10_000_000).contains(draw)));
    let before_end = 1.0 - (least / most).powf(shape);
    let moment =
        |k: f64| shape * least.powf(shape) / before_end * (most.powf(k - shape) - least.powf(k - shape)) / (k - shape);
    assert_mean(&found, moment(1.0), (moment(2.0) - moment(1.0).powi(2)).sqrt());
    let up_to = |value: f64| (1.0 - (least / value).powf(shape)) / before_end;
    assert_shares(&found, &[(2e3, up_to(2e3)), (1e4, up_to(1e4)), (1e5, up_to(1e5))]);
}

#[test]
fn a_mixture_draws_each_part_as_often_as_its_share() {
    let spec = json!({"kind": "mixture", "parts": [
        {"share": 0.9, "of": 15_000},
        {"share": 0.1, "of": {"kind": "exponential", "mean": 1_000_000}},
    ]});
    let found = draws(spec, COUNT);
    let fixed = found.iter().filter(|&&draw| draw == 15_000).count() as f64 / COUNT as f64;
    assert!((fixed - 0.9).abs() < 0.003, "{fixed}");
    let second = 0.9 * 15e3_f64.powi(2) + 0.1 * 2.0 * 1e12;
    assert_mean(&found, 113_500.0, (second - 113_500.0_f64.powi(2)).sqrt());
}

#[test]
fn empirical_numbers_are_linear_between_points_and_a_first_share_is_of_one_number() {
    let found =
        draws(json!({"kind": "empirical", "points": [[100, 0.3], [1_100, 0.5], [1_100, 0.6], [2_100, 1.0]]}), COUNT);
    let share = |value| found.iter().filter(|&&draw| draw == value).count() as f64 / COUNT as f64;
    assert!((share(100) - 0.3).abs() < 0.005 && (share(1_100) - 0.1).abs() < 0.005, "{} {}", share(100), share(1_100));
    assert_shares(&found, &[(600.0, 0.4), (1_099.0, 0.5), (1_600.0, 0.8)]);
    assert_mean(&found, 0.3 * 100.0 + 0.2 * 600.0 + 0.1 * 1_100.0 + 0.4 * 1_600.0, 800.0);
}

#[test]
fn numbers_are_the_same_on_every_machine() {
    // A lognormal and a Pareto distribution, because the functions that they use may round otherwise in a machine's own library.
    let lognormal = draws(json!({"kind": "lognormal", "median": 1_000_000_000, "sigma": 1.5}), 4);
    let pareto = draws(json!({"kind": "pareto", "shape": 1.3, "least": 1_000_000, "most": 1_000_000_000_000_u64}), 4);
    assert_eq!(lognormal, [4_362_636_141, 34_884_049_805, 3_041_242_091, 458_094_418]);
    assert_eq!(pareto, [1_462_479, 1_019_554, 9_526_396, 13_690_996]);
}

#[test]
fn what_is_no_distribution_is_refused_with_its_place() {
    for (spec, wrong) in [
        (json!({"kind": "uniform", "low": 2, "high": 1}), "high"),
        (json!({"kind": "lognormal", "median": 1, "sigma": -1.0}), "sigma"),
        (json!({"kind": "pareto", "shape": 0.0, "least": 1, "most": 2}), "shape"),
        (json!({"kind": "pareto", "shape": 1.0, "least": 0, "most": 2}), "least"),
        (json!({"kind": "mixture", "parts": []}), "parts"),
        (json!({"kind": "mixture", "parts": [{"share": 0.5, "of": 1}, {"share": 0.4, "of": 1}]}), "parts"),
        (
            json!({"kind": "mixture", "parts": [{"share": 1.0, "of": {"kind": "uniform", "low": 1, "high": 0}}]}),
            "parts.0.of.high",
        ),
        (json!({"kind": "empirical", "points": []}), "points"),
        (json!({"kind": "empirical", "points": [[1, 0.5], [2, 0.9]]}), "points"),
        (json!({"kind": "empirical", "points": [[2, 0.5], [1, 1.0]]}), "points.1"),
    ] {
        let found = flaws(spec.clone());
        assert!(found.contains(&format!("field: \"{wrong}\"")), "{spec}: {found}");
    }
}

fn numbers() -> impl Strategy<Value = Value> {
    let most = 1_u64 << 62;
    prop_oneof![
        (0..most).prop_map(|value| json!(value)),
        (0..most).prop_map(|mean| json!({"kind": "exponential", "mean": mean})),
        (0..most, 0..most).prop_map(|(a, b)| json!({"kind": "uniform", "low": a.min(b), "high": a.max(b)})),
        (0..most, 0.0..5.0).prop_map(|(median, sigma)| json!({"kind": "lognormal", "median": median, "sigma": sigma})),
        (0.05..20.0, 1..most, 1..most)
            .prop_map(|(shape, a, b)| json!({"kind": "pareto", "shape": shape, "least": a.min(b), "most": a.max(b)})),
        proptest::collection::vec((0..most, 0.0..1.0_f64), 1..20).prop_map(|mut points| {
            points.sort_by_key(|&(value, _)| value);
            let mut shares: Vec<f64> = points.iter().map(|&(_, share)| share).collect();
            shares.sort_by(f64::total_cmp);
            *shares.last_mut().expect("one at least") = 1.0;
            let points: Vec<_> = points.iter().zip(shares).map(|(&(value, _), share)| (value, share)).collect();
            json!({"kind": "empirical", "points": points})
        }),
    ]
}

proptest! {
    #[test]
    fn draws_stay_within_their_bounds_and_are_repeated(spec in numbers(), seed in any::<u64>()) {
        let distribution = distribution(spec.clone());
        let mut first = Rng::for_component(seed, "a");
        let mut second = first.clone();
        for _ in 0..50 {
            let draw = distribution.draw(&mut first);
            prop_assert_eq!(draw, distribution.draw(&mut second));
            let within = |low: &str, high: &str| (spec[low].as_u64().unwrap()..=spec[high].as_u64().unwrap()).contains(&draw);
            match spec["kind"].as_str() {
                Some("uniform") => prop_assert!(within("low", "high"), "{}", draw),
                // The minimum is a number of 53 bits in between.
                Some("pareto") => prop_assert!(draw <= spec["most"].as_u64().unwrap() && draw as f64 >= spec["least"].as_u64().unwrap() as f64),
                Some("empirical") => {
                    let points = spec["points"].as_array().unwrap();
                    let value = |i: usize| points[i][0].as_u64().unwrap() as f64;
                    prop_assert!((value(0)..=value(points.len() - 1)).contains(&(draw as f64)));
                }
                _ => {}
            }
        }
        let again: DistributionSpec = serde_json::from_value(spec.clone()).unwrap();
        prop_assert_eq!(serde_json::to_value(again).unwrap(), spec);
    }
}
