//! How an answer is said: four representations of one page.
//!
//! `document` says what an activity consists of, once; XML, JSON and Fast Infoset are three ways to write that down,
//! so they can't drift apart. Atom has its own vocabulary and stands beside it. Pages are put together from fragments
//! that are rendered once for each version of an activity; Fast Infoset has tables that run through the whole
//! document, so it is written anew.

mod atom;
pub mod document;
mod json;
mod page;
mod single;
mod xml;

pub use page::{Links, PageView, Renderer};
