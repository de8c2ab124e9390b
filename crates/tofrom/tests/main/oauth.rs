//! OAuth 1.0a from outside: applications that sign, people who consent, and attackers, through the real HTTPS listener.
//! The signing code here is independent of the verifying code of the service.

pub(crate) mod answers;
pub(crate) mod application;
mod attacks;
mod bodies;
mod flow;
mod freshness;
mod guessing;
mod normalisation;
mod pages;
pub(crate) mod races;
mod refusals;
mod revocation;
mod rotation;
mod rsa;
pub(crate) mod service;
