//! New identifiers.

use aws_lc_rs::rand;
use model::{ActivityId, Millis};
use store::{Result, StoreError};

/// Gives identifiers to what is accepted together: random, and within one millisecond ascending, so that a batch keeps
/// its order in collections, where ties go by identifier.
#[derive(Default)]
pub(super) struct Ids {
    latest: Option<(Millis, [u8; 10])>,
}

impl Ids {
    /// The identifier of an activity received then.
    pub(super) fn next(&mut self, received: Millis) -> Result<ActivityId> {
        let random = match self.latest {
            Some((millis, before)) if millis == received => raised(before)?,
            _ => fresh()?,
        };
        self.latest = Some((received, random));
        Ok(ActivityId::new(received, random))
    }
}

/// The last eight bytes carry 62 bits of an identifier; one of them is left 0, as room to count up.
fn fresh() -> Result<[u8; 10]> {
    let [a, b, c, rest @ ..] = random::<10>()?;
    let [d, e, f, g, h, i, j] = rest;
    Ok([a, b, c & 0x1f, d, e, f, g, h, i, j])
}

fn raised(before: [u8; 10]) -> Result<[u8; 10]> {
    let [a, b, counter @ ..] = before;
    let step = 1 + u64::from(u32::from_be_bytes(random()?));
    let [c, d, e, f, g, h, i, j] = u64::from_be_bytes(counter).wrapping_add(step).to_be_bytes();
    Ok([a, b, c, d, e, f, g, h, i, j])
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).map_err(|_| StoreError::Unavailable("no random numbers".to_owned()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_its_order() {
        let mut ids = Ids::default();
        let given: Vec<_> = (0..10_000).map(|_| ids.next(Millis(7)).unwrap()).collect();
        assert!(given.is_sorted_by(|a, b| a < b));
        assert_ne!(Ids::default().next(Millis(7)).unwrap(), Ids::default().next(Millis(7)).unwrap());
    }
}
