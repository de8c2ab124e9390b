//! OAuth 1.0a over HTTP: the two steps of an application, and the consent page between them.

pub(super) mod authorize;
pub(super) mod steps;
