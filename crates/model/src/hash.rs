//! FNV-1a, 64 bits: the hash that cursors carry, and by which engines choose where a row lies. It must be the same in
//! every build and on every machine, and it guards against mistakes, not against enemies: a cursor grants nothing.

/// A hash that is the same everywhere and for ever.
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv::new()
    }
}

impl Fnv {
    /// Of nothing yet.
    pub const fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// And of these bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Fnv {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// A text and its end, so that `ab`, `c` is not `a`, `bc`.
    #[must_use]
    pub fn text(self, text: &str) -> Fnv {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    /// The hash of all of it.
    pub fn finish(&self) -> u64 {
        self.0
    }
}
