//! Limits on the cost of a request before its sender is known.

/// The longest accepted `Authorization` header, in bytes.
pub const MAX_HEADER_LENGTH: usize = 16 << 10;

/// The maximum length of query and form together, in bytes.
pub const MAX_FORM_LENGTH: usize = 1 << 20;

/// The maximum number of parameters of a request, from all locations.
pub const MAX_PARAMETERS: usize = 1_000;

/// The longest decoded value of a protocol parameter, in bytes: enough for the signature of an RSA key of 8,192
/// bits.
pub const MAX_VALUE_LENGTH: usize = 2_048;
