//! Pages that explain something of the interface to whoever met it.

use crate::site::Site;
use askama::Template;

/// A page of our own texts.
#[derive(Debug, Template)]
#[template(path = "explanation.html")]
pub struct Explanation<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What is explained.
    pub title: &'a str,
    /// The explanation; what stands in backquotes is shown as code.
    pub paragraphs: &'a [&'a str],
    /// What kind of thing it is.
    pub foot: &'a str,
}
