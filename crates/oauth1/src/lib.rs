#![doc = include_str!("../README.md")]

mod base_string;
mod encoding;
mod form;
mod header;
mod limits;
mod malformed;
mod names;
mod parameters;
mod problem;
mod protocol;
mod request;
mod signature;
mod signed;

pub use encoding::encode;
pub use limits::{MAX_FORM_LENGTH, MAX_HEADER_LENGTH, MAX_PARAMETERS, MAX_VALUE_LENGTH};
pub use malformed::Malformed;
pub use problem::Problem;
pub use request::Request;
pub use signature::{Secrets, SignatureInvalid, SignatureMethod};
pub use signed::{BodyHashMismatch, Signed, TimestampRefused};
