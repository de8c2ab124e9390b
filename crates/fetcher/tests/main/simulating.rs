//! The plan holds what it promises, on a small scale.

use super::simulation::{self, Group, in_time};

#[tokio::test(start_paused = true)]
async fn what_busy_sources_publish_is_found_in_time_at_a_fifth_of_the_requests() {
    let outcome = simulation::run(500, 2, 7).await;
    let mut active = outcome.found.clone();
    active.retain(|item| item.group == Group::Active && !item.restrained);
    assert!(active.len() > 300, "{} items", active.len());
    let (in_time, share) = (in_time(&active), outcome.all_requests() as f64 / outcome.fixed() as f64);
    assert!(in_time >= 0.9, "{:.1} % in time", in_time * 100.0);
    // Two days have the first one in them, on which half of the sources are unknown: that is the costliest.
    assert!(share <= 0.2, "{:.1} % of the requests", share * 100.0);
    assert_eq!(outcome.most_at_once, 1);
    let again = simulation::run(500, 2, 7).await;
    assert_eq!(outcome.all_requests(), again.all_requests(), "the same chance gives the same world");
}
