//! What one request may cost before anybody knows who sent it.

/// The longest `Authorization` header that is read, in bytes.
pub const MAX_HEADER_LENGTH: usize = 16 << 10;

/// The longest query and form that are read, in bytes of both together.
pub const MAX_FORM_LENGTH: usize = 1 << 20;

/// The most parameters that one request may have, wherever they stand.
pub const MAX_PARAMETERS: usize = 1_000;

/// The longest value of a protocol parameter, in bytes once decoded: enough for the signature of an RSA key of
/// 8,192 bits.
pub const MAX_VALUE_LENGTH: usize = 2_048;
