//! A deterministic random number generator: the demo's data depends only on seeds and the time of the first start.

/// SplitMix64: small and uniform. Not for secrets.
pub(super) struct Random(u64);

impl Random {
    /// A separate sequence for each name.
    pub(super) fn seeded(name: &str) -> Random {
        let seed = name.bytes().fold(0x7066_726f_6d5f_3039, |seed: u64, byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fills the buffer.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(size_of::<u64>()) {
            let next = self.next().to_be_bytes();
            part.iter_mut().zip(next).for_each(|(byte, next)| *byte = next);
        }
    }

    /// A number from 0 up to, but not including, `end` (0 if that is 0).
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// A number from `low` up to, but not including, `high`.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high.saturating_sub(low)).unwrap_or(0);
        low.saturating_add(i64::try_from(self.below(span)).unwrap_or(0))
    }

    /// True with this probability in percent.
    pub(super) fn percent(&mut self, probability: u64) -> bool {
        self.below(100) < probability
    }

    /// A random element; `None` if there are none.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = usize::try_from(self.below(all.len() as u64)).ok()?;
        all.get(at)
    }
}
