//! The names of the protocol parameters that errors and requests share (RFC 5849, section 3.1).

pub(crate) const CONSUMER_KEY: &str = "oauth_consumer_key";
pub(crate) const TOKEN: &str = "oauth_token";
pub(crate) const SIGNATURE_METHOD: &str = "oauth_signature_method";
pub(crate) const SIGNATURE: &str = "oauth_signature";
pub(crate) const TIMESTAMP: &str = "oauth_timestamp";
pub(crate) const NONCE: &str = "oauth_nonce";
pub(crate) const VERSION: &str = "oauth_version";
pub(crate) const BODY_HASH: &str = "oauth_body_hash";
