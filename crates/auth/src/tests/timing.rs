//! The duration of a refusal does not reveal whether an account exists.

use super::*;
use std::net::Ipv4Addr;
use std::time::Instant;

/// Refusals of each kind; `.ci/nightly` asks for 5,000, ten thousand samples in all.
const SAMPLES: usize = 100;
/// Wrong passwords for one name, below the limit of all addresses.
const PER_NAME: usize = 50;

/// Attempts, because other tests run beside this one.
const ATTEMPTS: usize = 3;

/// An unknown name and a wrong password take the same time: the medians of 10,000 samples differ by less than 2 %, those of
/// fewer by less than noise explains.
#[tokio::test]
async fn an_unknown_name_takes_as_long_as_a_wrong_password() {
    let samples = std::env::var("TIMING_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(SAMPLES);
    let tolerance = (1.0 / f64::from(u32::try_from(samples).unwrap()).sqrt()).max(0.02);
    let mut ratios = Vec::new();
    while !ratios.iter().any(|ratio: &f64| (ratio - 1.0).abs() < tolerance) {
        assert!(ratios.len() < ATTEMPTS, "{samples} samples: known / unknown is {ratios:?}");
        ratios.push(ratio(samples).await);
    }
}

/// The median duration of a wrong password by that of an unknown name.
async fn ratio(samples: usize) -> f64 {
    let fixture = Fixture::new();
    for number in 0..samples.div_ceil(PER_NAME) {
        fixture.account(&format!("known-{number}"), Some("secret")).await;
    }
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for number in 0..samples {
        // Another address each time, and both kinds in turn, so that a busy machine slows down both.
        let remote = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + u32::try_from(number).unwrap()));
        let mut kinds = [("known", &mut known), ("other", &mut unknown)];
        kinds.rotate_left(number % 2);
        for (kind, times) in kinds {
            let credential = basic(&format!("{kind}-{}", number / PER_NAME), &format!("wrong {number}"));
            let started = Instant::now();
            let refused = fixture.ask(&[("authorization", &credential)], remote).await;
            times.push(started.elapsed());
            assert_eq!(reason(refused), "bad-credentials");
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64()
    };
    median(&mut known) / median(&mut unknown)
}
