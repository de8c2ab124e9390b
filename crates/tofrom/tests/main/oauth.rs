//! OAuth 1.0a from outside: applications that sign, people who are asked, and whoever means harm, through the real
//! HTTPS listener. What signs here was written apart from what verifies there.

pub(crate) mod answers;
pub(crate) mod application;
mod attacks;
mod bodies;
mod ending;
mod flow;
mod freshness;
mod guessing;
mod normalisation;
mod pages;
pub(crate) mod races;
mod refusals;
mod rotation;
mod rsa;
pub(crate) mod service;
