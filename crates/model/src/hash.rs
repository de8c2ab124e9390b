//! FNV-1a, 64 bits: the hash that cursors carry. It must be the same in every build and on every machine, and it
//! guards against mistakes, not against enemies: a cursor grants nothing.

pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) const fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Fnv {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// A text and its end, so that `ab`, `c` is not `a`, `bc`.
    pub(crate) fn text(self, text: &str) -> Fnv {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}
