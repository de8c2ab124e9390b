//! Attacks.

mod fixation;
mod forgery;
mod injection;
mod noise;
mod redirects;
mod secrets;
