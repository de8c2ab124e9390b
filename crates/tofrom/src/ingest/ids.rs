//! Generates activity identifiers.

use aws_lc_rs::rand;
use model::{ActivityId, Millis};
use std::sync::Arc;
use store::{Result, StoreError};

/// The source of randomness for identifiers. Tests can provide their own.
#[derive(Clone)]
pub struct Randomness(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<()> + Send + Sync;

impl Randomness {
    /// The randomness of the system.
    pub fn system() -> Randomness {
        let none = |_| StoreError::Unavailable("system randomness failed".to_owned());
        Randomness::from(move |bytes| rand::fill(bytes).map_err(none))
    }

    /// Randomness from `fill`.
    pub fn from(fill: impl Fn(&mut [u8]) -> Result<()> + Send + Sync + 'static) -> Randomness {
        Randomness(Arc::new(fill))
    }

    fn bytes<const N: usize>(&self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }
}

/// Generates the identifiers of a batch: random, and ascending within a millisecond. So a batch keeps its order in
/// collections, where ties are ordered by identifier.
pub(super) struct Ids<'a> {
    randomness: &'a Randomness,
    latest: Option<(Millis, [u8; 10])>,
}

impl Ids<'_> {
    pub(super) fn new(randomness: &Randomness) -> Ids<'_> {
        Ids { randomness, latest: None }
    }

    /// The identifier of an activity received at this time.
    pub(super) fn next(&mut self, received: Millis) -> Result<ActivityId> {
        let random = match self.latest {
            Some((millis, before)) if millis == received => self.incremented(before)?,
            _ => self.fresh()?,
        };
        self.latest = Some((received, random));
        Ok(ActivityId::new(received, random))
    }

    /// The last eight bytes carry 62 bits of an identifier; one bit is left 0, as room to count up.
    fn fresh(&self) -> Result<[u8; 10]> {
        let [a, b, c, rest @ ..] = self.randomness.bytes::<10>()?;
        let [d, e, f, g, h, i, j] = rest;
        Ok([a, b, c & 0x1f, d, e, f, g, h, i, j])
    }

    fn incremented(&self, before: [u8; 10]) -> Result<[u8; 10]> {
        let [a, b, counter @ ..] = before;
        let step = 1 + u64::from(u32::from_be_bytes(self.randomness.bytes()?));
        let [c, d, e, f, g, h, i, j] = u64::from_be_bytes(counter).wrapping_add(step).to_be_bytes();
        Ok([a, b, c, d, e, f, g, h, i, j])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_its_order() {
        let randomness = Randomness::system();
        let mut ids = Ids::new(&randomness);
        let generated: Vec<_> = (0..10_000).map(|_| ids.next(Millis(7)).unwrap()).collect();
        assert!(generated.is_sorted_by(|a, b| a < b));
        let fresh = || Ids::new(&randomness).next(Millis(7)).unwrap();
        assert_ne!(fresh(), fresh());
    }
}
