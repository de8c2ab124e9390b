//! FNV-1a with 64 bits: the hash in cursors, and for the placement of rows. It must be the same in every build and on
//! every machine. It protects against mistakes, not against attacks: a cursor grants nothing.

/// A hash that never changes.
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv::new()
    }
}

impl Fnv {
    /// The hash of nothing.
    pub const fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Fnv {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// Adds a text with a terminator, so that `ab`, `c` differs from `a`, `bc`.
    #[must_use]
    pub fn text(self, text: &str) -> Fnv {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    /// The hash.
    pub fn finish(&self) -> u64 {
        self.0
    }
}
