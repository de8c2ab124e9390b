//! Shrinks a failing sequence by leaving out steps.

use super::ground::Place;
use super::sequence::{Broken, Sequence};
use std::time::{Duration, Instant};

/// Shrinking stops after this time: sequences also fail on a cluster that is slow for a while.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The report of a failed sequence.
pub(super) async fn report(sequence: &Sequence, broken: &Broken, place: Place) -> String {
    let (shortest, why) = shortened(sequence, broken, place).await;
    let steps: Vec<String> = shortest.steps.iter().map(|step| format!("  {step:?}")).collect();
    format!(
        "the law of delivery is broken on {place:?} with DELIVERY_SEED={} ({} steps): {broken}\n\
         shortened: {why}\npublic at first: {:?}\nlookers: {:?}\n{}\n",
        sequence.seed,
        sequence.steps.len(),
        shortest.people,
        shortest.lookers,
        steps.join("\n")
    )
}

async fn shortened(sequence: &Sequence, broken: &Broken, place: Place) -> (Sequence, Broken) {
    let (mut shortest, mut why) = (sequence.clone(), broken.clone());
    let mut at = shortest.steps.len();
    let mut shorter = false;
    let began = Instant::now();
    while at > 0 && began.elapsed() < TIMEOUT {
        at -= 1;
        let mut candidate = shortest.clone();
        candidate.steps.remove(at);
        let ground = place.ground().await;
        if let Err(failed) = ground.judge(candidate.run(&ground)).await
            && !failed.unanswered
        {
            (shortest, why, shorter) = (candidate, failed.why, true);
        }
        if at == 0 && shorter {
            (at, shorter) = (shortest.steps.len(), false);
        }
    }
    (shortest, why)
}
