//! The plan meets its targets in a small simulation.

use super::simulation::{self, Group, in_time};

#[tokio::test(start_paused = true)]
async fn busy_sources_are_discovered_in_time_with_a_fifth_of_the_requests() {
    let outcome = simulation::run(500, 2, 7).await;
    let mut active = outcome.discovered.clone();
    active.retain(|item| item.group == Group::Active && !item.restrained);
    assert!(active.len() > 300, "{} items", active.len());
    let (in_time, share) = (in_time(&active), outcome.all_requests() as f64 / outcome.fixed() as f64);
    assert!(in_time >= 0.9, "{:.1} % in time", in_time * 100.0);
    // Two days include the first, on which half of the sources are unknown: the most expensive one.
    assert!(share <= 0.2, "{:.1} % of the requests", share * 100.0);
    assert_eq!(outcome.max_concurrent, 1);
    let repeated = simulation::run(500, 2, 7).await;
    assert_eq!(outcome.all_requests(), repeated.all_requests(), "the same seed gives the same result");
}
