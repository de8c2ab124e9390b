//! Shrinks a failing sequence by leaving out steps.

use super::sequence::{Sequence, Violation};
use super::test_bed::Backend;
use std::time::{Duration, Instant};

/// Shrinking stops after this time: sequences also fail on a cluster that is slow for a while.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The report of a failed sequence.
pub(super) async fn report(sequence: &Sequence, violation: &Violation, backend: Backend) -> String {
    let (shortest, why) = shrunk(sequence, violation, backend).await;
    let steps: Vec<String> = shortest.steps.iter().map(|step| format!("  {step:?}")).collect();
    format!(
        "the delivery property is violated on {backend:?} with DELIVERY_SEED={} ({} steps): {violation}\n\
         shrunk: {why}\ninitially public: {:?}\nclients: {:?}\n{}\n",
        sequence.seed,
        sequence.steps.len(),
        shortest.initially_public,
        shortest.specs,
        steps.join("\n")
    )
}

async fn shrunk(sequence: &Sequence, violation: &Violation, backend: Backend) -> (Sequence, Violation) {
    let (mut shortest, mut why) = (sequence.clone(), violation.clone());
    let mut at = shortest.steps.len();
    let mut shorter = false;
    let began = Instant::now();
    while at > 0 && began.elapsed() < TIMEOUT {
        at -= 1;
        let mut candidate = shortest.clone();
        candidate.steps.remove(at);
        let bed = backend.test_bed().await;
        if let Err(failed) = bed.try_run(candidate.run(&bed)).await
            && !failed.engine_failed
        {
            (shortest, why, shorter) = (candidate, failed.why, true);
        }
        if at == 0 && shorter {
            (at, shorter) = (shortest.steps.len(), false);
        }
    }
    (shortest, why)
}
